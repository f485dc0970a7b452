package memoryr2_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

var roles = map[model.Role]formationtest.Called{
	model.RoleFacts: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		out, err := newFormer(t, s).Extract(ctx, session("I moved to Porto last week", "I love green tea"))
		return len(out), err
	},
	model.RoleFactManager: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		out, err := operations(ctx, newFormer(t, s),
			bundle([]string{"Ana lives in Porto", "Ana loves tea"}, stored("m-1", "Ana lives in Lisbon")))
		return len(out), err
	},
}

func TestEveryMisbehaviourOfEveryRole(t *testing.T) { formationtest.Misbehave(t, roles) }

func TestRolesWorkWithoutStructuredOutput(t *testing.T) {
	formationtest.WithoutStructuredOutput(t, roles)
}

func TestEmbeddedConforms(t *testing.T) {
	formationtest.Run(t, memoryr2.Name, func(*testing.T) formation.Former { return memoryr2.NewEmbedded() })
}

func TestLLMConforms(t *testing.T) {
	formationtest.Run(t, memoryr2.Name, func(t *testing.T) formation.Former { return newFormer(t, llmtest.New(t)) })
}

func TestNothingToDoAsksNothing(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	if out, err := former.Extract(t.Context(), session()); err != nil || len(out) != 0 {
		t.Errorf("extract: %v, %v", out, err)
	}
	if out, err := operations(t.Context(), former, bundle(nil)); err != nil || len(out) != 0 {
		t.Errorf("decide: %v, %v", out, err)
	}
	if n := s.Total(); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

// An ordinary session costs two calls, whatever it says.
func TestASessionCostsTwoCalls(t *testing.T) {
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
}

// Whatever users type stays inside one JSON string of the one data block.
func TestTurnTextStaysInItsBlock(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	injections := formationtest.Injections()
	for _, text := range injections { // the fake model repeats the text, NUL included, so that it is asked for no more
		in := session(strings.ReplaceAll(text, "\x00", ""))
		in.Turns[0].Speaker, in.Turns[0].Caption = strings.ReplaceAll(text, "\x00", ""), text
		if _, err := former.Extract(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := former.Decide(t.Context(), bundle(injections, stored("m-1", injections[1]))); err != nil {
		t.Fatal(err)
	}
	for _, role := range []model.Role{model.RoleFacts, model.RoleFactManager} {
		if s.Count(role) == 0 {
			t.Errorf("%s was not asked", role)
		}
		for _, c := range s.Calls(role) {
			formationtest.CheckBlock(t, c)
		}
	}
}
