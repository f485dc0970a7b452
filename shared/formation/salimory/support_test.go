package salimory_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
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

func newFormer(t *testing.T, s *llmtest.Server) *salimory.LLM {
	t.Helper()
	f, err := salimory.NewLLM(s.Client(t), llm.DefaultOptions())
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

// op is a manager's operation.
func op(candidate, kind, content string, targets ...string) object {
	return object{"candidate": candidate, "relation": "refines", "op": kind, "content": content, "targets": targets}
}

// ending returns an operation that ends further entries in addition to its targets.
func ending(o object, ends ...string) object { o["ends"] = ends; return o }

// dated is an operation with the date of the new version.
func dated(o object, date, precision string) object {
	o["event_date"], o["event_precision"] = date, precision
	return o
}

func ops(list ...object) object { return object{"operations": list} }
