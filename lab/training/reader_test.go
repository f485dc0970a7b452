package training_test

import (
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/reader"
	"github.com/mneme-memory/mneme/shared/text"
)

// readerFigures count the reader's notes on talks.
type readerFigures struct{ turns, notes, right, entries, found int }

// count compares the notes of a turn with the writer's notes. A note is right if it has half of the words of the
// writer's spans, and half of its words are in the writer's note or spans.
func (f *readerFigures) count(model *reader.Model, before string, turn corpus.NotedTurn) {
	f.turns++
	f.entries += len(turn.Entries)
	found := map[int]bool{}
	for _, n := range reader.Notes(turn.Text, model.Read(before, turn.Text)) {
		f.notes++
		said, right := wordsOf(turn.Text[n.From:n.To]), false
		for i, e := range turn.Entries {
			spans, all := wordsOf(e.Spans...), wordsOf(append(e.Spans, e.Memory)...)
			if len(spans) > 0 && 2*common(said, spans) >= len(spans) {
				found[i] = true
				right = right || 2*common(said, all) >= len(said)
			}
		}
		if right {
			f.right++
		}
	}
	f.found += len(found)
}

func wordsOf(texts ...string) map[string]bool {
	out := map[string]bool{}
	for _, s := range texts {
		for _, w := range text.Words(s) {
			out[w.Lower] = true
		}
	}
	return out
}

func common(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// The writers of these talks wrote nothing that the reader learned from. `go test -v` prints the figures; the bars are
// some points below.
func TestTheReaderHoldsOnTalkOfOtherWriters(t *testing.T) {
	const every = 6 // of so many talks, one is read
	talks, err := corpus.NotedTalks(corpus.Heldout)
	if err != nil {
		t.Fatal(err)
	}
	model, of := reader.Shipped(), map[string]*readerFigures{}
	all := &readerFigures{}
	for i, talk := range talks {
		if i%every != 0 {
			continue
		}
		if of[talk.Batch] == nil {
			of[talk.Batch] = &readerFigures{}
		}
		before := ""
		for _, u := range talk.Turns {
			if u.Who != "assistant" {
				of[talk.Batch].count(model, before, u)
				all.count(model, before, u)
			}
			before = u.Text
		}
	}
	of["all"] = all
	for name, f := range of {
		t.Logf("%-8s %4d turns, %4d notes, %.1f %% right, %.1f %% of %d entries found", name, f.turns, f.notes,
			100*float64(f.right)/float64(f.notes), 100*float64(f.found)/float64(f.entries), f.entries)
	}
	if all.turns < 500 || 100*all.right < 60*all.notes || 100*all.found < 65*all.entries {
		t.Errorf("got %+v, want 60 %% of the notes right and 65 %% of the entries found", *all)
	}
}
