package memoryr2_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = formationtest.Object

var (
	scope   = formationtest.Scope()
	day     = formationtest.Day()
	session = formationtest.Session
	stored  = formationtest.Stored
	bundle  = formationtest.Bundle
	text    = formationtest.Answer
)

func newFormer(t *testing.T, s *llmtest.Server) *memoryr2.LLM {
	t.Helper()
	f, err := memoryr2.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// operations of the former's verdict.
func operations(ctx context.Context, f formation.Former, b formation.Bundle) ([]memory.Operation, error) {
	v, err := formationtest.DecideWhole(ctx, f, b)
	return v.Operations, err
}

// op is an operation of the manager's.
func op(fact, kind, target, content string, contradicts ...string) object {
	if contradicts == nil {
		contradicts = []string{}
	}
	return object{"fact": fact, "contradicts": contradicts, "op": kind, "target": target, "content": content}
}

func ops(list ...object) object { return object{"operations": list} }

// fact is a fact of the extractor's.
func fact(content string, sources ...string) object {
	return object{
		"sources": sources, "kind": "fact", "content": content, "topic": "", "slot": "", "keywords": []string{},
		"negates":    false,
		"event_date": "", "event_precision": "none", "event_words": "",
	}
}

// shown are the entries that a bundle holds.
func shown(b formation.Bundle) []memory.Memory {
	var out []memory.Memory
	seen := map[string]bool{}
	for _, r := range b.Related {
		for _, m := range r.Memories {
			if !seen[m.ID] {
				seen[m.ID] = true
				out = append(out, m)
			}
		}
	}
	return out
}

// kinds of the operations, for comparison.
func kinds(list []memory.Operation) (out []memory.OpKind) {
	for _, o := range list {
		out = append(out, o.Kind)
	}
	return out
}
