package corpus_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
)

func TestPhrasingsAreWhatBanksTell(t *testing.T) {
	evolutions := map[string]synthesis.Evolution{
		"unrelated": synthesis.EvolutionNear, "same": synthesis.EvolutionAgain, "adds": synthesis.EvolutionExpand,
		"replaces": synthesis.EvolutionShift, "ends": synthesis.EvolutionEnd,
	}
	banks, err := corpus.Banks(corpus.Heldout)
	if err != nil {
		t.Fatal(err)
	}
	phrasings, err := corpus.Phrasings(corpus.Heldout)
	if err != nil || len(phrasings) != len(banks) || len(banks) == 0 {
		t.Fatalf("%d people tell something, want %d, %v", len(phrasings), len(banks), err)
	}
	for i, b := range banks {
		told := phrasings[i]
		for _, l := range b.Later {
			switch {
			case l.Entry < 0:
				if !slices.ContainsFunc(told, func(p synthesis.Phrasing) bool { return p.Told == l.Text }) {
					t.Errorf("%q is not told", l.Text)
				}
			case told[l.Entry].Told != b.Stored[l.Entry] ||
				!slices.Contains(told[l.Entry].Later, synthesis.Later{Said: l.Text, Evolution: evolutions[l.Label]}):
				t.Errorf("%q is not told behind %q", l.Text, b.Stored[l.Entry])
			}
		}
	}
}
