package corpus_test

import (
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestMomentsAreOfBothKindsInEachSplit(t *testing.T) {
	all, err := corpus.Moments()
	if err != nil {
		t.Fatal(err)
	}
	counts, known := map[corpus.Split]map[bool]int{corpus.Train: {}, corpus.Choose: {}, corpus.Heldout: {}},
		map[string]bool{}
	for _, m := range all {
		counts[m.Split()][m.Passes()]++
		if known[m.Text] {
			t.Errorf("%q stands there twice", m.Text)
		}
		known[m.Text] = true
	}
	for split, n := range counts {
		if n[true] < 20 || n[false] < 40 {
			t.Errorf("%s has %v", split, n)
		}
	}
}
