package deltamem_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/deltamem"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// The agent in its last step: the results are its operations.
var finishing = map[model.Role]formationtest.Called{
	model.RoleAgent: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		f := newFormer(t, s)
		out, err := f.Decide(ctx, bundle(t, f, "We had soup at noon.", "The bus was late."))
		return len(out.Operations), err
	},
}

// The agent in a step that searches: its queries are.
var searching = map[model.Role]formationtest.Called{
	model.RoleAgent: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		f := newFormer(t, s)
		out, err := f.Decide(ctx, bundle(t, f, "I moved to Porto.", "I love green tea."))
		return len(out.Lookups), err
	},
}

func TestEveryMisbehaviourOfTheLastStep(t *testing.T) { formationtest.Misbehave(t, finishing) }

func TestTheAgentWorksWithoutStructuredOutput(t *testing.T) {
	formationtest.WithoutStructuredOutput(t, finishing)
	formationtest.WithoutStructuredOutput(t, searching)
}

func TestEmbeddedConforms(t *testing.T) {
	formationtest.Run(t, deltamem.Name, func(*testing.T) formation.Former { return deltamem.NewEmbedded() })
}

func TestLLMConforms(t *testing.T) {
	formationtest.Run(t, deltamem.Name, func(t *testing.T) formation.Former { return newFormer(t, llmtest.New(t)) })
}

func TestNothingToDoAsksNothing(t *testing.T) {
	s := llmtest.New(t)
	f := newFormer(t, s)
	if v, err := f.Decide(t.Context(), bundle(t, f)); err != nil || len(v.Operations)+len(v.Lookups) != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	if n := s.Total(); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

// A session costs the call that finishes, and one more for each search in the bank. Each of the suite's sessions takes
// one.
func TestASessionCostsOneCallAStep(t *testing.T) {
	s := llmtest.New(t)
	l := formationtest.NewLife(newFormer(t, s))
	for i, in := range formationtest.Sessions() {
		before := s.Total()
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n := s.Total() - before; n != 2 {
			t.Errorf("session %d took %d calls, want 2", i, n)
		}
	}
	if l.Searches == 0 || l.Searches > 8 {
		t.Errorf("%d searches in three sessions", l.Searches)
	}
}

// Text of users stays inside one JSON string of the one data block. This holds also where it returns as a query, a
// thought or a memory.
func TestTextStaysInItsBlock(t *testing.T) {
	s := llmtest.New(t)
	f := newFormer(t, s)
	injections := formationtest.Injections()
	b := bundle(t, f, injections...)
	for i := range b.Session.Turns {
		b.Session.Turns[i].Speaker, b.Session.Turns[i].Caption = injections[i], injections[i]
	}
	ask := search(strings.ReplaceAll(injections[0], "\x00", ""), injections[1], injections[2])
	ask["thought"] = strings.Join(injections, " ")
	script(t, s, ask)
	v, err := f.Decide(t.Context(), b)
	if err != nil || len(v.Lookups) != 3 {
		t.Fatalf("got %+v, %v", v, err)
	}
	if _, err := f.Decide(t.Context(), found(b, v, stored("m-1", injections[1]),
		stored("m-2", injections[2]))); err != nil {
		t.Fatal(err)
	}
	calls := s.Calls(model.RoleAgent)
	if len(calls) != 2 {
		t.Fatalf("%d calls, want 2", len(calls))
	}
	for _, c := range calls {
		formationtest.CheckBlock(t, c)
	}
	if !strings.Contains(string(calls[1].Data()), `"m2"`) {
		t.Error("the memories are not shown")
	}
}
