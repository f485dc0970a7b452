package embedded_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/learning"
	"github.com/mneme-memory/mneme/shared/memory"
)

// asking is a chooser that notes what it is asked, and takes the place it is told to.
type asking struct {
	place int
	asked [][]learning.Option
}

func (a *asking) Choose(r decision.Role, options []learning.Option) int {
	if r != decision.Change {
		return decision.Rules{}.Choose(r, options)
	}
	a.asked = append(a.asked, options)
	return a.place
}

func TestWhatAStatementDoesToAnEntryIsTheChoosersToDecide(t *testing.T) {
	f := embedded.NewFormer(embedded.IdentityOf("salimory"))
	in := formationtest.Session("I moved to Porto last week.")
	stored := formationtest.Stored("m-1", "I live in Lisbon.")
	stored.Speaker = in.Turns[0].Speaker
	stored.ValidFrom = in.Turns[0].Time.AddDate(0, -1, 0)
	verdict := func(f *embedded.Former) formation.Verdict {
		t.Helper()
		candidates, err := f.Extract(t.Context(), in)
		if err != nil || len(candidates) != 1 {
			t.Fatalf("candidates %+v, %v", candidates, err)
		}
		v, err := f.Decide(t.Context(), formation.Bundle{Session: in, Related: []formation.Related{
			{Candidate: candidates[0], Memories: []memory.Memory{stored}, Similarity: []float64{0.7}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	usual := verdict(f)
	for place, want := range []memory.OpKind{memory.OpAdd, memory.OpAdd, memory.OpUpdate} {
		a := &asking{place: place}
		v := verdict(f.Deciding(a, "asked-1"))
		op := v.Operations[len(v.Operations)-1]
		if op.Kind != want || op.New == nil || op.New.PolicyVersion != f.Version()+"@asked-1" || (place == 1) != (len(op.New.Links) == 1) {
			t.Errorf("taking %d: %+v", place, op)
		}
		if len(a.asked) != 1 || len(a.asked[0]) != 3 || len(a.asked[0][2].Features) != len(decision.Features(decision.Change)) {
			t.Errorf("taking %d: asked %+v", place, a.asked)
		}
		if place == (decision.Rules{}).Choose(decision.Change, a.asked[0]) && op.Kind != usual.Operations[len(usual.Operations)-1].Kind {
			t.Errorf("what the rules take gives %s, and without a chooser %s", op.Kind, usual.Operations[len(usual.Operations)-1].Kind)
		}
	}
}

// leaving is a chooser that takes the first option of a role, and leaves the others to the rules.
type leaving decision.Role

func (l leaving) Choose(r decision.Role, options []learning.Option) int {
	if r == decision.Role(l) {
		return 0
	}
	return decision.Rules{}.Choose(r, options)
}

func TestWhatIsLookedUpIsTheChoosersToDecide(t *testing.T) {
	f := embedded.NewFormer(embedded.IdentityOf("salimory"))
	for role, want := range map[decision.Role]int{decision.Lookup: formation.NoNeighbours, decision.Change: 0} {
		out, err := f.Deciding(leaving(role), "test").Extract(t.Context(), formationtest.Session("I moved to Porto last week."))
		if err != nil || len(out) != 1 || out[0].Neighbours != want {
			t.Errorf("%s: %+v, %v, want %d neighbours", role, out, err, want)
		}
	}
}
