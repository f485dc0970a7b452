package embedded_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestAnEndClosesEachEntryAboutItsSubject(t *testing.T) {
	for _, c := range []struct {
		said     string
		known    []string
		closed   []string
		standing []string
	}{
		{"My uncle passed away in April.", []string{"My uncle Theo lives in a hospice in Lund.",
			"I visit my uncle every Friday.", "My uncle was born in Malmö.", "My mother lives in Lund."},
			[]string{"My uncle Theo lives in a hospice in Lund.", "I visit my uncle every Friday."},
			[]string{"My uncle was born in Malmö.", "My mother lives in Lund."}},
		{"My uncle got married in April.", []string{"My uncle Theo is single.", "I visit my uncle every Friday."},
			nil, []string{"I visit my uncle every Friday."}},
		{"I lost my job at Kornblum.", []string{"I work at Kornblum as a baker.", "My shift at Kornblum starts at 4.",
			"My friend Otto works at Kornblum."},
			[]string{"I work at Kornblum as a baker.", "My shift at Kornblum starts at 4."},
			[]string{"My friend Otto works at Kornblum."}},
		{"We sold the cabin in Lund.", []string{"I own a cabin in Lund.", "The cabin in Lund needs a new stove.",
			"My sister lives in Lund."},
			[]string{"I own a cabin in Lund.", "The cabin in Lund needs a new stove."}, []string{"My sister lives in Lund."}},
		{"I moved from Lund to Malmö.", []string{"I live in Lund.", "My sister lives in Lund.",
			"My dentist in Lund is Dr Ek."},
			[]string{"I live in Lund."}, []string{"My sister lives in Lund."}},
	} {
		in := session("Ana: " + c.said)
		var known []memory.Memory
		for _, content := range c.known {
			known = append(known, stored(content, content))
		}
		b := formation.Bundle{Session: in}
		for _, candidate := range extract(t, in) {
			b.Related = append(b.Related, formation.Related{Candidate: candidate, Memories: known})
		}
		v, err := embedded.NewFormer(embedded.IdentityOf("salimory")).Decide(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		var closed []string
		for _, op := range v.Operations {
			closed = append(closed, op.Targets...)
		}
		for _, want := range c.closed {
			if !slices.Contains(closed, want) {
				t.Errorf("%q leaves %q, want it closed", c.said, want)
			}
		}
		for _, want := range c.standing {
			if slices.Contains(closed, want) {
				t.Errorf("%q closes %q, want it left: %+v", c.said, want, closed)
			}
		}
	}
}
