package embedded_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestAnEnumerationKeepsItsHead(t *testing.T) {
	for _, c := range []struct {
		said, rest string
		gone       []int
	}{
		{"I can't eat nuts, eggs or fish.", "I can't eat eggs or fish.", []int{0}},
		{"I can't eat nuts, eggs or fish.", "I can't eat nuts or fish.", []int{1}},
		{"I can't eat nuts, eggs or fish.", "I can't eat nuts, eggs.", []int{2}},
		{"My son takes iron, zinc and cod liver oil.", "My son takes zinc and cod liver oil.", []int{0}},
		{"We go to Rome in May and to Bath in June.", "We go to Bath in June.", []int{0}},
		{"I am vegan, coeliac and teetotal", "I am coeliac and teetotal", []int{0}},
		{"Je suis allergique aux noix, aux oeufs et aux kiwis.", "Je suis allergique aux oeufs et aux kiwis.", []int{0}},
		{"Ich esse keine Nüsse, Eier und Pilze.", "Ich esse keine Eier und Pilze.", []int{0}},
		{"I live in Porto and work as a nurse.", "work as a nurse.", []int{0}},
		{"Non mangio noci, uova e pesce.", "Non mangio uova e pesce.", []int{0}},
		{"My blood test is on 12 May, fasting, at the clinic.", "fasting, at the clinic.", []int{0}},
		{"I live in Porto, I have a cat", "I have a cat", []int{0}},
	} {
		gone := make([]bool, len(embedded.Facts(c.said)))
		for _, i := range c.gone {
			gone[i] = true
		}
		if rest, sure := embedded.Without(c.said, gone); !sure || rest != c.rest {
			t.Errorf("%q without %v: %q, want %q", c.said, c.gone, rest, c.rest)
		}
	}
}

func TestAMessageThatNamesAnItemTakesOnlyThisItemOut(t *testing.T) {
	for _, c := range []struct{ known, said, rest string }{
		{"I'm allergic to cashews, mussels and latex.", "Turns out I'm not allergic to mussels after all.",
			"I'm allergic to cashews and latex."},
		{"I can't eat wheat, celery or lupin.", "I can eat wheat again.", "I can't eat celery or lupin."},
		{"I don't drink wine, tea or milk.", "I drink tea now.", "I don't drink wine or milk."},
		{"I'm flying to Malta in May and to Crete in July.", "I cancelled the Crete trip.", "I'm flying to Malta in May."},
		{"I play the oboe, the harp and the flute.", "I gave up the harp last month.", "I play the oboe and the flute."},
		{"I play the oboe, the harp and the flute.", "I gave up all my instruments.", ""},
		{"I'm allergic to cashews, mussels and latex.", "I'm not allergic to anything any more.", ""},
		{"Ida is my older sister and Mia the younger one.", "I mixed them up: Mia is the older one.", ""},
		{"I'm allergic to cashews, mussels and latex.", "All my allergies are gone, I can eat anything.", ""},
	} {
		in := session("Ana: " + c.said)
		b := formation.Bundle{Session: in}
		for _, candidate := range extract(t, in) {
			b.Related = append(b.Related, formation.Related{Candidate: candidate,
				Memories: []memory.Memory{stored("known", c.known)}})
		}
		v, err := embedded.NewFormer(embedded.IdentityOf("salimory")).Decide(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		rest := ""
		closed := slices.ContainsFunc(v.Operations, func(op memory.Operation) bool {
			if op.Rest {
				rest = op.New.Content
			}
			return slices.Contains(op.Targets, "known")
		})
		if !closed || rest != c.rest {
			t.Errorf("%q after %q: %q is left (closed: %t), want %q", c.said, c.known, rest, closed, c.rest)
		}
	}
}
