package llm_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

type object = formationtest.Object

var (
	scope = formationtest.Scope()
	turns = formationtest.Turns
	text  = formationtest.Answer
)

func newFilter(t *testing.T, s *llmtest.Server) *llm.Filter {
	t.Helper()
	f, err := llm.NewFilter(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var roles = map[model.Role]formationtest.Called{
	model.RoleFilter: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		out, err := newFilter(t, s).Filter(ctx, scope, turns("I moved to Porto last week", "ok"), nil)
		return len(out), err
	},
}

func TestEveryMisbehaviourOfTheFilter(t *testing.T) { formationtest.Misbehave(t, roles) }

func TestTheFilterWorksWithoutStructuredOutput(t *testing.T) {
	formationtest.WithoutStructuredOutput(t, roles)
}

func TestTurnTextStaysInItsBlock(t *testing.T) {
	s := llmtest.New(t)
	in := turns(formationtest.Injections()...)
	for i, text := range formationtest.Injections() {
		in[i].Speaker, in[i].Caption = text, text
	}
	if _, err := newFilter(t, s).Filter(t.Context(), scope, in, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Calls(model.RoleFilter) {
		formationtest.CheckBlock(t, c)
	}
}

func TestNothingToRateAsksNothing(t *testing.T) {
	s := llmtest.New(t)
	var none []memory.Turn
	if out, err := newFilter(t, s).Filter(t.Context(), scope, none, nil); err != nil || len(out) != 0 || s.Total() != 0 {
		t.Errorf("got %v, %v after %d calls", out, err, s.Total())
	}
}
