package training_test

import (
	"bytes"
	"testing"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
)

func TestRelevanceIsTheSameEachTimeAndSaysWhatIs(t *testing.T) {
	o := training.RelevanceOptions{Dialogues: []int{3}, Users: 12}
	var files [2][]byte
	for i := range files {
		model, r, err := training.Relevance(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = ranking.EncodePrior(model); err != nil {
			t.Fatal(err)
		}
		if h := r.Heldout[0]; r.Requests < 50 || h.Requests < 50 || h.Said-h.Is > 0.1 || h.Is-h.Said > 0.1 {
			t.Errorf("report %+v, want what is said to be within a tenth of what is", r)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("the same options give\n%s\nand\n%s", files[0], files[1])
	}
}

func TestTrainingRelevanceRefusesWhatCannotBe(t *testing.T) {
	for name, o := range map[string]training.RelevanceOptions{
		"no users": {Dialogues: []int{1}}, "no dialogues": {Users: 1}, "a user without dialogues": {Users: 1, Dialogues: []int{0}},
	} {
		if _, _, err := training.Relevance(t.Context(), o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
