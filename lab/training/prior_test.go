package training_test

import (
	"bytes"
	"testing"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
)

func TestTrainingThePriorIsDeterministic(t *testing.T) {
	o := training.PriorDefaults()
	o.Conversations, o.Users, o.Askers = 1, 0, 0 // the other training data is formed and learned in the same way
	var files [2][]byte
	for i := range files {
		p, _, err := training.Prior(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = ranking.EncodePrior(p); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings differ")
	}
}

func TestThePriorFindsWhatAnswers(t *testing.T) {
	o := training.PriorDefaults()
	o.Conversations, o.Users, o.Askers = 1, 1, 2
	_, r, err := training.Prior(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// A random order finds about 3 % among the first ten.
	if r.Questions < 20 || r.Requests < 20 || r.Asked < 20 || r.Heldout.Questions < 10 || r.Heldout.Recall10 < 0.4 ||
		r.Heldout.Recall5 > r.Heldout.Recall10 || r.Heldout.Recall10 > r.Heldout.Recall20 ||
		r.HeldoutRequests.Recall20 < 0.2 {
		t.Errorf("report %+v", r)
	}
}

func TestTrainingThePriorRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*training.PriorOptions){
		"nothing": func(o *training.PriorOptions) {
			o.Conversations = 0
		}, "users": func(o *training.PriorOptions) { o.Users = -1 },
		"askers": func(o *training.PriorOptions) {
			o.Askers = -1
		}, "a rate": func(o *training.PriorOptions) { o.Rates.More = 2 },
	} {
		o := training.PriorDefaults()
		change(&o)
		if _, _, err := training.Prior(t.Context(), o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
