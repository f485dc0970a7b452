package corpus_test

import (
	"testing"

	"github.com/mneme-memory/mneme/evaluation/corpus"
)

func TestThereAreEnoughBanksOfEachLabel(t *testing.T) {
	for split, least := range map[corpus.Split]int{corpus.Train: 5000, corpus.Choose: 900, corpus.Heldout: 1000} {
		banks, err := corpus.Banks(split)
		if err != nil {
			t.Fatal(err)
		}
		counts, all := map[string]int{}, 0
		for _, b := range banks {
			for _, l := range b.Later {
				counts[l.Label]++
				all++
			}
		}
		if all < least {
			t.Errorf("%s has %d statements, want %d or more", split, all, least)
		}
		for label, bounds := range map[string][2]float64{
			"unrelated": {0.3, 0.55}, "same": {0.03, 0.15}, "adds": {0.05, 0.2}, "replaces": {0.18, 0.32}, "ends": {0.1, 0.2},
		} {
			if share := float64(counts[label]) / float64(all); share < bounds[0] || share > bounds[1] {
				t.Errorf("%s: %.1f %% are %s, want %.0f to %.0f", split, 100*share, label, 100*bounds[0], 100*bounds[1])
			}
		}
	}
}

func TestNoBankStatementIsInTwoSplits(t *testing.T) {
	where := map[string]corpus.Split{}
	for _, split := range []corpus.Split{corpus.Train, corpus.Choose, corpus.Heldout} {
		banks, err := corpus.Banks(split)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range banks {
			for _, l := range b.Later {
				if before, ok := where[l.Text]; ok && before != split {
					t.Errorf("%q is in %s and in %s", l.Text, before, split)
				}
				where[l.Text] = split
			}
		}
	}
}
