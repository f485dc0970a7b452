package corpus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
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

// fewNearDuplicates fails for more than `across` near-duplicates in two splits. It also fails when more than the
// share `within` of a split's pairs are near-duplicates in it.
func fewNearDuplicates(t *testing.T, pairs []corpus.Pair, across int, within float64) {
	t.Helper()
	apart, counts := 0, map[corpus.Split]int{}
	for _, d := range nearDuplicates(pairs) {
		a, b := pairs[d.First], pairs[d.Second]
		t.Logf("%s (%s) and %s (%s) say nearly the same:\n%s => %s\n%s => %s",
			a.Batch, a.Split(), b.Batch, b.Split(), a.Stored, a.Later, b.Stored, b.Later)
		if a.Split() != b.Split() {
			apart++
		} else {
			counts[a.Split()]++
		}
	}
	if apart > across {
		t.Errorf("%d near-duplicates are in two splits, want %d or fewer", apart, across)
	}
	for split, n := range counts {
		all := len(corpus.Of(pairs, split))
		t.Logf("%s: %d near-duplicates among %d", split, n, all)
		if float64(n) > within*float64(all) {
			t.Errorf("%s has %d near-duplicates among %d, want %.1f %% or fewer", split, n, all, 100*within)
		}
	}
}

func TestNothingIsInTwoSplits(t *testing.T) {
	pairs := all(t)
	// Within a split, two writers sometimes chose the same short statement ("I foster kittens for the shelter in
	// Haifa"), with different later ones: nine of the pairs for training. A higher number would mean that one
	// writer's text is a copy of another's.
	fewNearDuplicates(t, pairs, 0, 0.003)
	where := map[string]corpus.Split{}
	for _, p := range pairs {
		key := text.Canonical(p.Stored)
		if s, ok := where[key]; ok && s != p.Split() {
			t.Errorf("%q is stored in %s and in %s", p.Stored, s, p.Split())
		}
		where[key] = p.Split()
	}
}

// The measured pairs should share no topic and no content word with the training pairs. The bounds are the best
// possible ones. Writers had separate fields of topics, but several also wrote about travel, appointments,
// volunteering or the assistant's style. People's facts about themselves use too few words to keep them apart. Every
// pair has a word of the training pairs, while a third or more of the different words are new.
func TestPairsShareFewTopicsAndWordsWithTraining(t *testing.T) {
	pairs := all(t)
	topics, words := map[string]bool{}, map[string]bool{}
	for _, p := range corpus.Of(pairs, corpus.Train) {
		topics[p.Topic] = true
		for _, w := range text.ContentStems(p.Stored + "\n" + p.Later) {
			words[w] = true
		}
	}
	for split, mostPairs := range map[corpus.Split]float64{corpus.Choose: 0.1, corpus.Heldout: 0.2} {
		some := corpus.Of(pairs, split)
		shared, pairsOf, said, known, different, knownOfThem := map[string]int{}, 0, 0, 0, map[string]bool{}, 0
		for _, p := range some {
			if topics[p.Topic] {
				shared[p.Topic]++
				pairsOf++
			}
			for _, w := range text.ContentStems(p.Stored + "\n" + p.Later) {
				said++
				if words[w] {
					known++
					if !different[w] {
						knownOfThem++
					}
				}
				different[w] = true
			}
		}
		t.Logf("%s: %d of %d pairs have a topic of training: %v", split, pairsOf, len(some), shared)
		t.Logf("%s: training has %d of %d content words, %d of %d different ones", split, known, said, knownOfThem,
			len(different))
		for what, share := range map[string][3]float64{
			"pairs' topics":           {float64(pairsOf), float64(len(some)), mostPairs},
			"content words":           {float64(known), float64(said), 0.85},
			"different content words": {float64(knownOfThem), float64(len(different)), 0.67},
		} {
			if share[0] > share[1]*share[2] {
				t.Errorf("%s: training has %.1f %% of the %s, want %.0f %% or fewer", split, 100*share[0]/share[1], what,
					100*share[2])
			}
		}
	}
}

func TestNearDuplicatesAreFound(t *testing.T) {
	pairs := []corpus.Pair{
		{Stored: "i take the early train from Didcot every morning", Later: "no more early trains for me"},
		{Stored: "two cats and a parrot live with me", Later: "the parrot flew off on Sunday"},
		{Stored: "i take the early train from Reading every morning", Later: "no more early trains for me"},
	}
	if found := nearDuplicates(pairs); len(found) != 1 || found[0] != (nearDuplicate{First: 0, Second: 2}) {
		t.Errorf("found %v", found)
	}
}

const good = `{"topic":"pets","stored":"I have two cats","stored_by":"user","later":"Mog died, so it's one now","later_by":"user",` +
	`"label":"replaces","part":"two cats","kind":"by consequence"}`

func TestReadRefusesWhatIsNoPair(t *testing.T) {
	if pairs, err := corpus.Read("x", []byte(good+"\n\n"+good+"\n")); err != nil || len(pairs) != 2 ||
		pairs[1].Batch != "x" {
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
		if _, err := corpus.Read("x", []byte(good+"\n"+line)); !errors.Is(err, corpus.ErrPair) ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
