package training_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
)

// No text for the fit of vectors is a held-out text, unless a training writer has the same text.
func TestTextsAreOfTheTrainingSplit(t *testing.T) {
	texts, err := training.Texts()
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 20_000 || !slices.IsSorted(texts) {
		t.Fatalf("%d texts, want more than 20,000, sorted", len(texts))
	}
	dialogues, err := corpus.Dialogues()
	if err != nil {
		t.Fatal(err)
	}
	found := map[corpus.Split]int{}
	asked := map[corpus.Split]int{}
	for _, d := range dialogues {
		for _, r := range d.Requests {
			asked[d.Split()]++
			if _, ok := slices.BinarySearch(texts, r.Text); ok {
				found[d.Split()]++
			}
		}
	}
	if found[corpus.Train] < asked[corpus.Train]*9/10 || found[corpus.Heldout] > asked[corpus.Heldout]/100 {
		t.Errorf("of the requests %v are among the texts, of %v", found, asked)
	}
}
