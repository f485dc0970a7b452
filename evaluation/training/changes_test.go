package training_test

import (
	"bytes"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestTrainingTheChangesIsDeterministic(t *testing.T) {
	o := training.ChangesDefaults()
	o.Persons, o.Trees.Trees, o.Trees.Depth = 1, 6, 3
	var files [2][]byte
	for i := range files {
		m, err := training.Changes(t.Context(), builtin.New(), o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		if m.Threshold != o.Threshold || m.Trained.Persons != 1 || m.Trained.Rounds != o.Rounds || m.Trained.Changes == 0 {
			t.Errorf("threshold %g, trained %+v", m.Threshold, m.Trained)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings differ")
	}
	if _, err := link.Parse(files[0], embedded.Features()); err != nil {
		t.Error(err)
	}
}

func TestTrainingTheChangesRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*training.ChangesOptions){
		"nobody": func(o *training.ChangesOptions) { o.Persons = 0 }, "no round": func(o *training.ChangesOptions) { o.Rounds = 0 },
		"everything": func(o *training.ChangesOptions) { o.Threshold = 0 }, "nothing": func(o *training.ChangesOptions) { o.Threshold = 1 },
	} {
		o := training.ChangesDefaults()
		change(&o)
		if _, err := training.Changes(t.Context(), builtin.New(), o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
