package training_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small are options that train in a fraction of a second.
func small() training.FilterOptions {
	o := training.FilterDefaults()
	o.Persons = 4
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

func TestTheCommittedModelIsWhatItsOptionsMake(t *testing.T) {
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
	if again, _ := train(t, r.Options); !bytes.Equal(again, committed) {
		t.Error("training again makes another model: run `mneme train filter --out shared/formation/saliency/model.json`")
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	first, _ := train(t, small())
	if second, _ := train(t, small()); !bytes.Equal(first, second) {
		t.Error("the same options made two models")
	}
	other := small()
	other.Seed++
	if changed, _ := train(t, other); bytes.Equal(first, changed) {
		t.Error("another seed made the same model")
	}
}

func TestTrainingLearns(t *testing.T) {
	_, r := train(t, small())
	if r.AUC < 0.95 || r.Loss > 0.3 {
		t.Errorf("AUC %.3f, loss %.3f on separable dialogues", r.AUC, r.Loss)
	}
	if r.Kept < r.Options.Recall || r.Dropped < 0.6 {
		t.Errorf("the threshold keeps %.3f of the salient and drops %.3f of the others", r.Kept, r.Dropped)
	}
}

func TestTheThresholdFollowsTheWantedRecall(t *testing.T) {
	strict, lax := small(), small()
	strict.Recall, lax.Recall = 0.8, 0.995
	_, few := train(t, strict)
	_, many := train(t, lax)
	if few.Kept >= many.Kept || few.Dropped <= many.Dropped {
		t.Errorf("recall 0.8: %+v, recall 0.995: %+v", few, many)
	}
}

func TestTrainRefusesOptionsOutOfRange(t *testing.T) {
	for name, change := range map[string]func(*training.FilterOptions){
		"persons":       func(o *training.FilterOptions) { o.Persons = 1 },
		"recall":        func(o *training.FilterOptions) { o.Recall = 1 },
		"recall weight": func(o *training.FilterOptions) { o.RecallWeight = 0 },
		"ridge":         func(o *training.FilterOptions) { o.Ridge = 0 },
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
