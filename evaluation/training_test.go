package evaluation_test

import (
	"bytes"
	"testing"

	"github.com/mneme-memory/mneme/evaluation"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestTrainingIsDeterministic(t *testing.T) {
	o := evaluation.TrainingDefaults()
	o.Persons, o.Trees.Trees, o.Trees.Depth = 2, 6, 3
	var files [2][]byte
	for i := range files {
		m, err := evaluation.TrainChanges(t.Context(), builtin.New(), o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		if m.Threshold != o.Threshold || m.Trained.Persons != 2 || m.Trained.Rounds != o.Rounds || m.Trained.Changes == 0 {
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

func TestTrainingRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*evaluation.TrainingOptions){
		"nobody": func(o *evaluation.TrainingOptions) { o.Persons = 0 }, "no round": func(o *evaluation.TrainingOptions) { o.Rounds = 0 },
		"everything": func(o *evaluation.TrainingOptions) { o.Threshold = 0 }, "nothing": func(o *evaluation.TrainingOptions) { o.Threshold = 1 },
	} {
		o := evaluation.TrainingDefaults()
		change(&o)
		if _, err := evaluation.TrainChanges(t.Context(), builtin.New(), o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
