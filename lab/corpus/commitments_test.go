package corpus_test

import (
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestThereAreEnoughCommitmentsOfEachSplitOnce(t *testing.T) {
	all, err := corpus.Commitments()
	if err != nil {
		t.Fatal(err)
	}
	counts, seen := map[corpus.Split][2]int{}, map[string]bool{}
	for _, c := range all {
		if seen[c.Text] {
			t.Errorf("%q is there twice", c.Text)
		}
		seen[c.Text] = true
		n := counts[c.Split()]
		if c.Commits() {
			n[0]++
		} else {
			n[1]++
		}
		counts[c.Split()] = n
	}
	for split, least := range map[corpus.Split]int{corpus.Train: 300, corpus.Choose: 60, corpus.Heldout: 90} {
		if n := counts[split]; n[0] < least || n[1] < n[0] {
			t.Errorf("%s has %d that commit and %d others, want %d and as many", split, n[0], n[1], least)
		}
	}
}
