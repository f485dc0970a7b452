package embedded_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestAnOlderStatementEndsWhereALaterOneWouldHaveClosedIt(t *testing.T) {
	for _, c := range []struct {
		later, older string
		ended        bool
	}{
		{"I can eat lupin again, the allergy is gone.", "I'm allergic to lupin, no pastries please.", true},
		{"I quit the choir last year.", "I sing in the choir every Monday.", true},
		{"My deposit is 950 euros now.", "My deposit is 900 euros.", true},
		{"I live in Leuven.", "I live in Ghent.", true},
		{"I live in Leuven.", "I have a dog called Bas.", false},
		{"I like jazz.", "I like folk music.", false},
		{"I quit the choir last year.", "I sing in the choir and I teach chemistry.", false},
	} {
		in := session("Ana: " + c.older)
		later := stored("later", c.later)
		later.ValidFrom = thursday.AddDate(1, 0, 0)
		between := stored("between", "I can't drive at night.")
		between.ValidFrom = thursday.AddDate(0, 6, 0)
		b := formation.Bundle{Session: in}
		for _, candidate := range extract(t, in) {
			b.Related = append(b.Related, formation.Related{Candidate: candidate, Memories: []memory.Memory{later, between}})
		}
		v, err := embedded.NewFormer(embedded.IdentityOf("salimory")).Decide(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		want := time.Time{}
		if c.ended {
			want = later.ValidFrom
		}
		if op := v.Operations[0]; op.Kind != memory.OpAdd || !op.Until.Equal(want) || len(op.New.Links) > 0 {
			t.Errorf("%q before %q: %s until %s, want an ADD until %s", c.older, c.later, op.Kind, op.Until, want)
		}
	}
}
