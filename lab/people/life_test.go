package people_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	shared "github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// life returns a made-up life of three sessions and its formed state, without durations.
func life(t *testing.T, filter shared.Filter, former shared.Former) *formation.Life {
	t.Helper()
	people, err := synthesis.Generate(synthesis.Options{Seed: 5, Persons: 1, Sessions: 3})
	if err != nil {
		t.Fatal(err)
	}
	p := formation.Pipeline{Filter: filter, Saliency: memory.SaliencyGate, Former: former, Strategy: salimory.Name,
		Embedder: builtin.New()}
	l, err := p.Begin(people[0].Subject("acme"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func formed(t *testing.T, l *formation.Life, steps int) formation.Formed {
	t.Helper()
	for range steps {
		if err := l.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	out, err := l.Formed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out.Took = 0
	return out
}

func TestALifeIsSteppedAndForked(t *testing.T) {
	whole := formed(t, life(t, saliency.NewTrained(), salimory.NewEmbedded()), 3)
	l := life(t, saliency.NewTrained(), salimory.NewEmbedded())
	first := formed(t, l, 1)
	fork, err := l.Fork(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := formed(t, fork, 2); !reflect.DeepEqual(got, whole) || fork.Next() != nil || len(whole.Entries) == 0 {
		t.Errorf("a fork goes on to %d entries, and without one there are %d", len(got.Entries), len(whole.Entries))
	}
	if got := formed(t, l, 0); !reflect.DeepEqual(got, first) || l.Next() == nil {
		t.Errorf("what a fork does shows where it came from: %d entries instead of %d", len(got.Entries), len(first.Entries))
	}
	if got := formed(t, l, 2); !reflect.DeepEqual(got, whole) {
		t.Errorf("after a fork a life goes on otherwise: %d entries instead of %d", len(got.Entries), len(whole.Entries))
	}
}

// An untrained policy with any heads leaves the same entries as the rules.
func TestAPolicyThatHasNotLearnedLeavesTheSameLife(t *testing.T) {
	by := func(choose decision.Chooser) formation.Formed {
		return formed(t, life(t, saliency.NewTrained().Deciding(choose, "same"),
			salimory.NewEmbedded().Deciding(choose, "same")), 3)
	}
	rules := by(decision.Rules{})
	for _, hidden := range []int{0, 32} {
		policy := &decision.Policy{Version: "fresh", Heads: map[decision.Role]decision.Head{}}
		for _, r := range decision.Roles() {
			policy.Heads[r] = decision.NewHead(len(decision.Features(r)), hidden, rand.New(rand.NewPCG(1, 1)))
		}
		if got := by(policy); !reflect.DeepEqual(got, rules) || len(rules.Entries) == 0 {
			t.Errorf("%d wide: %d entries by %d operations, by the rules %d by %d", hidden, len(got.Entries),
				len(got.Operations),
				len(rules.Entries), len(rules.Operations))
		}
	}
}

// The same seed draws the same life, and another seed another life.
func TestADrawnLifeIsTheSameAgain(t *testing.T) {
	draw := func(seed uint64) (formation.Formed, int) {
		policy := &decision.Policy{Version: "drawn/1", Heads: map[decision.Role]decision.Head{}}
		for _, r := range decision.Roles() {
			policy.Heads[r] = decision.NewHead(len(decision.Features(r)), 0, nil)
		}
		s := decision.NewSampler(policy, rand.New(rand.NewPCG(seed, 1)))
		former := embedded.NewFormer(embedded.IdentityOf(salimory.Name)).Deciding(s, policy.Version)
		out := formed(t, life(t, saliency.NewTrained().Deciding(s, policy.Version), former), 3)
		n := 0
		for _, choices := range s.Taken() {
			n += len(choices)
		}
		return out, n
	}
	first, n := draw(1)
	if again, m := draw(1); n == 0 || n != m || !reflect.DeepEqual(first, again) {
		t.Errorf("%d choices, and %d again: %d and %d entries", n, m, len(first.Entries), len(again.Entries))
	}
	if other, _ := draw(2); reflect.DeepEqual(first, other) {
		t.Error("another seed draws the same")
	}
}
