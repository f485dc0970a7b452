package salimory_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

var roles = map[model.Role]formationtest.Called{
	model.RoleExtractor: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		out, err := newFormer(t, s).Extract(ctx, session("I moved to Porto last week", "I love green tea"))
		return len(out), err
	},
	model.RoleManager: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
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
	formationtest.Run(t, salimory.Name, func(*testing.T) formation.Former { return salimory.NewEmbedded() })
}

func TestLLMConforms(t *testing.T) {
	formationtest.Run(t, salimory.Name, func(t *testing.T) formation.Former { return newFormer(t, llmtest.New(t)) })
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
