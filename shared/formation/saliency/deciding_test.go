package saliency_test

import (
	"math/rand/v2"
	"testing"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestAChooserDecidesOnWhatTheModelScores(t *testing.T) {
	f, scope := saliency.NewTrained(), memory.Scope{Tenant: "acme", User: "ana"}
	var turns []memory.Turn
	for _, text := range []string{
		"I moved to Porto with my two sons.", "ok", "Thanks!", "I am allergic to 3 sorts of nuts.", "Is it raining?", ":-)",
	} {
		turns = append(turns, memory.Turn{ID: text, Speaker: "Ana", Role: memory.RoleUser, Text: text})
	}
	plain, err := f.Filter(t.Context(), scope, turns, nil)
	if err != nil {
		t.Fatal(err)
	}
	ruled, err := f.Deciding(decision.Rules{}, "rules-1").Filter(t.Context(), scope, turns, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range turns {
		if ruled[i].Salient != plain[i].Salient || ruled[i].Score != plain[i].Score ||
			ruled[i].PolicyVersion != plain[i].PolicyVersion+"@rules-1" {
			t.Errorf("%q: %+v by the rules, %+v without", turns[i].Text, ruled[i], plain[i])
		}
	}
	head := decision.NewHead(len(decision.Features(decision.Filter)), 0, nil)
	head.Weights[0] = 100 // keeps whatever it is asked about
	policy := &decision.Policy{Version: "keeper-1", Heads: map[decision.Role]decision.Head{decision.Filter: head}}
	kept, err := f.Deciding(policy, policy.Version).Filter(t.Context(), scope, turns, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range turns {
		if !kept[i].Salient {
			t.Errorf("%q is dropped by a policy that keeps all", turns[i].Text)
		}
	}
	s := decision.NewSampler(policy, rand.New(rand.NewPCG(1, 1)))
	if _, err := f.Deciding(s, policy.Version).Filter(t.Context(), scope, turns, nil); err != nil {
		t.Fatal(err)
	}
	taken := s.Taken()[decision.Filter]
	if len(taken) != len(turns) || len(taken[0].Options) != 2 || len(taken[0].Options[1].Features) != head.Features {
		t.Errorf("noted %d choices: %+v", len(taken), taken)
	}
}
