package corpus_test

import (
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestConstraintsAreLabelledInEverySplit(t *testing.T) {
	all, err := corpus.Constraints()
	if err != nil {
		t.Fatal(err)
	}
	counts, texts := map[corpus.Split]map[corpus.Binding]int{}, map[string]corpus.Split{}
	for _, c := range all {
		if counts[c.Split()] == nil {
			counts[c.Split()] = map[corpus.Binding]int{}
		}
		counts[c.Split()][c.Label]++
		if before, again := texts[c.Text]; again && before != c.Split() {
			t.Errorf("%s: %q is in %s, too", c.ID, c.Text, before)
		}
		texts[c.Text] = c.Split()
	}
	for _, s := range []corpus.Split{corpus.Train, corpus.Choose, corpus.Heldout} {
		for _, label := range []corpus.Binding{corpus.BindsAlways, corpus.BindsTaste, corpus.BindsNot} {
			if counts[s][label] < 40 {
				t.Errorf("%s has %d statements with the label %s", s, counts[s][label], label)
			}
		}
	}
	if len(all) < 2000 {
		t.Errorf("there are %d statements", len(all))
	}
}
