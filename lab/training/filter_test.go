package training_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small returns options that train in one or two seconds.
func small() training.FilterOptions {
	o := training.FilterDefaults()
	o.Persons, o.Epochs, o.Recall = 4, 1, 0.93
	return o
}

func train(t *testing.T, o training.FilterOptions) ([]byte, training.FilterRecord) {
	t.Helper()
	m, r, err := training.Filter(o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := training.EncodeFilter(m)
	if err != nil {
		t.Fatal(err)
	}
	return data, r
}

func TestTheCommittedModelIsOfTheseData(t *testing.T) {
	committed, err := os.ReadFile("../../shared/formation/saliency/model.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := saliency.ParseModel(committed)
	if err != nil {
		t.Fatal(err)
	}
	var r training.FilterRecord
	if err := json.Unmarshal(m.Training, &r); err != nil {
		t.Fatal(err)
	}
	if r.Options != training.FilterDefaults() {
		t.Errorf("the model is of %+v, the defaults are %+v", r.Options, training.FilterDefaults())
	}
	// A second training takes too long for a test. The digest of its data shows whether a new training is due.
	if again, err := training.FilterData(r.Options); err != nil || again.Digest != r.Digest {
		t.Errorf("the data are others by now (%v): run `mneme-lab train filter --out shared/formation/saliency/model.json`", err)
	}
}

func TestTrainingLearnsTheSameAgain(t *testing.T) {
	first, r := train(t, small())
	if r.MadeUp.AUC < 0.85 || r.Heldout.AUC < 0.75 || r.Loss > 0.5 {
		t.Errorf("AUC %.3f and %.3f, loss %.3f", r.MadeUp.AUC, r.Heldout.AUC, r.Loss)
	}
	if r.Chosen.NeededKept < r.Options.Recall || r.Chosen.Dropped < 0.05 {
		t.Errorf("the threshold keeps %.3f of the needed and drops %.3f", r.Chosen.NeededKept, r.Chosen.Dropped)
	}
	if second, _ := train(t, small()); !bytes.Equal(first, second) {
		t.Error("the same options made two models")
	}
	other := small()
	other.Seed++
	other.Recall = 0.8
	changed, few := train(t, other)
	if bytes.Equal(first, changed) {
		t.Error("another seed made the same model")
	}
	if few.Chosen.NeededKept >= r.Chosen.NeededKept || few.Chosen.Dropped <= r.Chosen.Dropped {
		t.Errorf("recall 0.8: %+v, recall %v: %+v", few.Chosen, r.Options.Recall, r.Chosen)
	}
}

func TestTrainRefusesOptionsOutOfRange(t *testing.T) {
	for name, change := range map[string]func(*training.FilterOptions){
		"persons":       func(o *training.FilterOptions) { o.Persons = 1 },
		"recall":        func(o *training.FilterOptions) { o.Recall = 1 },
		"recall weight": func(o *training.FilterOptions) { o.RecallWeight = 0 },
		"epochs":        func(o *training.FilterOptions) { o.Epochs = 0 },
		"rate":          func(o *training.FilterOptions) { o.Rate = 0 },
		"decay":         func(o *training.FilterOptions) { o.Decay = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			o := small()
			change(&o)
			if _, _, err := training.Filter(o); !fault.IsTerminal(err) {
				t.Errorf("got %v, want a terminal error", err)
			}
		})
	}
}
