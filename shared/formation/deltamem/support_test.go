package deltamem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/deltamem"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = formationtest.Object

var (
	scope   = formationtest.Scope()
	day     = formationtest.Day()
	session = formationtest.Session
	stored  = formationtest.Stored
	answer  = formationtest.Answer
)

func newFormer(t *testing.T, s *llmtest.Server) *deltamem.LLM {
	t.Helper()
	return newFormerWithin(t, s, deltamem.DefaultBounds())
}

func newFormerWithin(t *testing.T, s *llmtest.Server, b deltamem.Bounds) *deltamem.LLM {
	t.Helper()
	f, err := deltamem.NewLLMWithin(s.Client(t), llm.DefaultOptions(), b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// bundle is a session of turns, as it is when the agent is first asked.
func bundle(t testing.TB, f formation.Former, texts ...string) formation.Bundle {
	t.Helper()
	b := formation.Bundle{Session: session(texts...)}
	candidates, err := f.Extract(t.Context(), b.Session)
	if err != nil {
		t.Fatal(err)
	}
	formation.Number(candidates)
	for _, c := range candidates {
		b.Related = append(b.Related, formation.Related{Candidate: c})
	}
	return b
}

// found continues from a verdict with lookups, each of which has the same results.
func found(b formation.Bundle, v formation.Verdict, memories ...memory.Memory) formation.Bundle {
	b.Memo, b.Found = v.Memo, nil
	for range v.Lookups {
		b.Found = append(b.Found, formation.Found{Memories: memories, Similarity: make([]float64, len(memories))})
	}
	return b
}

// search and finish are answers of the agent's.
func search(queries ...string) object {
	return object{"thought": "May be known.", "action": "search", "queries": queries, "nothing": false,
		"operations": []object{}}
}

func finish(operations ...object) object {
	return object{"thought": "", "action": "finish", "queries": []string{}, "nothing": len(operations) == 0,
		"operations": operations}
}

func op(kind, target, content string, sources ...string) object {
	return object{
		"op": kind, "target": target, "sources": sources, "kind": "fact", "content": content, "topic": "",
		"keywords":   []string{},
		"event_date": "", "event_precision": "none", "event_words": "",
	}
}

// script has the agent give these answers.
func script(t *testing.T, s *llmtest.Server, answers ...object) {
	t.Helper()
	for _, a := range answers {
		s.Script(model.RoleAgent, answer(t, a))
	}
}

// searched runs a step with this query, and returns the input of the next step.
func searched(
	t *testing.T, s *llmtest.Server, f *deltamem.LLM, b formation.Bundle, memories ...memory.Memory,
) formation.Bundle {
	t.Helper()
	script(t, s, search("where Ana lives"))
	v, err := formationtest.DecideWhole(t.Context(), f, b)
	if err != nil || len(v.Lookups) != 1 {
		t.Fatalf("got %+v, %v, want a lookup", v, err)
	}
	return found(b, v, memories...)
}

// kinds of the operations, for comparison.
func kinds(list []memory.Operation) (out []memory.OpKind) {
	for _, o := range list {
		out = append(out, o.Kind)
	}
	return out
}
