package corpus_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Second readers made the labels in second/ without sight of the corpus' labels. Their labels stay unchanged. A
// language model labelled the pairs and dialogues, drawn by a seed. Turns of dialogues are users' turns in d01 to d06
// and f01, since p01 to p07 leave some turns worth remembering without a label. Places in the corpus count from 0.

// second is a second reader's label of a pair, of a bank's later statement or of a turn of a dialogue.
type second struct {
	Batch    string
	Line     int
	Later    int
	Label    string
	Entry    int
	ID       string
	Turn     int
	Remember bool
}

func seconds(t *testing.T, name string) []second {
	t.Helper()
	data, err := os.ReadFile("second/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []second
	for line := range bytes.Lines(data) {
		var s second
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// readings are two labels of each item: the corpus' label and the second reader's.
type readings[L comparable] [][2]L

// compare fails when the share of equal labels or Cohen's kappa is below its bound. Kappa is the agreement beyond
// chance.
func (r readings[L]) compare(t *testing.T, of string, leastEqual, leastKappa float64) {
	t.Helper()
	equal, counts, apart := 0, map[L][2]float64{}, map[[2]L]int{}
	for _, both := range r {
		if both[0] == both[1] {
			equal++
		} else {
			apart[both]++
		}
		for i, label := range both {
			c := counts[label]
			c[i]++
			counts[label] = c
		}
	}
	n, chance := float64(len(r)), 0.0
	for _, c := range counts {
		chance += c[0] / n * c[1] / n
	}
	share := float64(equal) / n
	kappa := (share - chance) / (1 - chance)
	t.Logf("%s: %d of %d labels agree (%.1f %%), kappa %.2f; the corpus' and the reader's where they do not: %v",
		of, equal, len(r), 100*share, kappa, apart)
	if share < leastEqual || kappa < leastKappa {
		t.Errorf("%s: want %.0f %% and a kappa of %.2f at least", of, 100*leastEqual, leastKappa)
	}
}

func changes(t *testing.T, label string) bool {
	t.Helper()
	l, err := relation.ParseLabel(label)
	if err != nil {
		t.Fatal(err)
	}
	return l.Changes()
}

func TestASecondReaderOfPairsAgrees(t *testing.T) {
	batches := map[string][]corpus.Pair{}
	for _, p := range all(t) {
		batches[p.Batch] = append(batches[p.Batch], p)
	}
	var labels readings[string]
	var change readings[bool]
	for _, s := range seconds(t, "pairs.jsonl") {
		p := batches[s.Batch][s.Line]
		labels = append(labels, [2]string{p.Label, s.Label})
		change = append(change, [2]bool{changes(t, p.Label), changes(t, s.Label)})
	}
	// Bounds are some labels below the measured values. They guard against later changes to the corpus, and ignore a
	// few wrong labels.
	labels.compare(t, "pairs, five labels", 0.9, 0.88)
	change.compare(t, "pairs, changed or not", 0.97, 0.95)
}

// agreement returns a second reader's agreement on later statements: on labels, on whether there is a change, and on
// the changed entries.
func agreement(t *testing.T, file string) (labels readings[string], change readings[bool], entries readings[int]) {
	t.Helper()
	batches := map[string][]corpus.Bank{}
	for _, b := range banks(t) {
		batches[b.Batch] = append(batches[b.Batch], b)
	}
	for _, s := range seconds(t, file) {
		l := batches[s.Batch][s.Line].Later[s.Later]
		labels = append(labels, [2]string{l.Label, s.Label})
		change = append(change, [2]bool{changes(t, l.Label), changes(t, s.Label)})
		if changes(t, l.Label) {
			entries = append(entries, [2]int{l.Entry, s.Entry})
		}
	}
	return labels, change, entries
}

func TestASecondReaderOfBanksAgrees(t *testing.T) {
	// Readers differ on whether a friend's news adds to an entry or is unrelated (37 of 46). Both see changes
	// clearly.
	labels, change, entries := agreement(t, "banks.jsonl")
	labels.compare(t, "banks b23 to b26, five labels", 0.58, 0.45)
	change.compare(t, "banks b23 to b26, changed or not", 0.97, 0.95)
	entries.compare(t, "banks b23 to b26, which entry is changed", 0.95, 0.9)

	labels, change, entries = agreement(t, "messages.jsonl")
	labels.compare(t, "banks b27 to b46, five labels", 0.92, 0.9)
	change.compare(t, "banks b27 to b46, changed or not", 0.97, 0.95)
	entries.compare(t, "banks b27 to b46, which entry is changed", 0.95, 0.9)
}

func TestASecondReaderOfDialoguesAgrees(t *testing.T) {
	turns := map[string][]corpus.LabelledTurn{}
	for _, d := range dialogues(t) {
		turns[d.ID] = d.Labelled()
	}
	var remember readings[bool]
	for _, s := range seconds(t, "dialogues.jsonl") {
		remember = append(remember, [2]bool{turns[s.ID][s.Turn].Remember, s.Remember})
	}
	// Readers differ on plans and choices of the day, and on half-told facts, in both directions.
	remember.compare(t, "dialogues, worth remembering or not", 0.85, 0.68)
}
