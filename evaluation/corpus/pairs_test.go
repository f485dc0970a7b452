package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/text"
)

func all(t *testing.T) []corpus.Pair {
	t.Helper()
	pairs, err := corpus.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func TestThereAreEnoughPairsOfEachLabel(t *testing.T) {
	pairs := all(t)
	if len(pairs) < 6000 {
		t.Errorf("%d pairs, want 6000 or more", len(pairs))
	}
	for split, least := range map[corpus.Split]int{corpus.Train: 4000, corpus.Choose: 700, corpus.Heldout: 1000} {
		some := corpus.Of(pairs, split)
		if len(some) < least {
			t.Errorf("%s has %d pairs, want %d or more", split, len(some), least)
		}
		counts := map[string]int{}
		for _, p := range some {
			counts[p.Label]++
		}
		for label, bounds := range map[string][2]float64{
			"unrelated": {0.35, 0.5}, "same": {0.05, 0.15}, "adds": {0.08, 0.2}, "replaces": {0.15, 0.28}, "ends": {0.08, 0.18},
		} {
			if share := float64(counts[label]) / float64(len(some)); share < bounds[0] || share > bounds[1] {
				t.Errorf("%s: %.1f %% are %s, want %.0f to %.0f", split, 100*share, label, 100*bounds[0], 100*bounds[1])
			}
		}
	}
}

func TestNothingIsInTwoSplits(t *testing.T) {
	pairs := all(t)
	for _, d := range corpus.NearDuplicates(pairs) {
		if a, b := pairs[d.First], pairs[d.Second]; a.Split() != b.Split() {
			t.Errorf("%s and %s say nearly the same:\n%s => %s\n%s => %s", a.Batch, b.Batch, a.Stored, a.Later, b.Stored, b.Later)
		} else {
			t.Logf("near duplicates in %s: %s => %s | %s => %s", a.Batch, a.Stored, a.Later, b.Stored, b.Later)
		}
	}
	where := map[string]corpus.Split{}
	for _, p := range pairs {
		key := text.Canonical(p.Stored)
		if s, ok := where[key]; ok && s != p.Split() {
			t.Errorf("%q is stored in %s and in %s", p.Stored, s, p.Split())
		}
		where[key] = p.Split()
	}
}

func TestNearDuplicatesAreFound(t *testing.T) {
	pairs := []corpus.Pair{
		{Stored: "i take the early train from Didcot every morning", Later: "no more early trains for me"},
		{Stored: "two cats and a parrot live with me", Later: "the parrot flew off on Sunday"},
		{Stored: "i take the early train from Reading every morning", Later: "no more early trains for me"},
	}
	if found := corpus.NearDuplicates(pairs); len(found) != 1 || found[0] != (corpus.NearDuplicate{First: 0, Second: 2}) {
		t.Errorf("found %v", found)
	}
}

const good = `{"topic":"pets","stored":"I have two cats","stored_by":"user","later":"Mog died, so it's one now","later_by":"user",` +
	`"label":"replaces","part":"two cats","kind":"by consequence"}`

func TestReadRefusesWhatIsNoPair(t *testing.T) {
	if pairs, err := corpus.Read("x", []byte(good+"\n\n"+good+"\n")); err != nil || len(pairs) != 2 || pairs[1].Batch != "x" {
		t.Fatalf("%v, %v", pairs, err)
	}
	for name, change := range map[string][2]string{
		"a label of its own": {`"replaces"`, `"contradicts"`}, "a part that is not there": {`"two cats"`, `"three cats"`},
		"no part": {`"part":"two cats"`, `"part":""`}, "a stranger": {`"later_by":"user"`, `"later_by":"bank"`},
		"nothing later": {"Mog died, so it's one now", " "}, "a field too many": {`"kind"`, `"sort":"","kind"`},
		"an assistant that changes": {`"later_by":"user"`, `"later_by":"assistant"`}, "no JSON": {`{"topic"`, `topic`},
		"an assistant's memory": {`"stored_by":"user"`, `"stored_by":"assistant"`},
	} {
		line := strings.Replace(good, change[0], change[1], 1)
		if line == good {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := corpus.Read("x", []byte(good+"\n"+line)); !errors.Is(err, corpus.ErrPair) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
