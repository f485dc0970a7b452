package training_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

func TestTheCommittedModelOfConstraintsIsOfTheDefaults(t *testing.T) {
	committed, err := os.ReadFile("../../shared/formation/constraint/model.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := saliency.ParseModel(committed)
	if err != nil {
		t.Fatal(err)
	}
	var r training.ConstraintRecord
	if err := json.Unmarshal(m.Training, &r); err != nil {
		t.Fatal(err)
	}
	if r.Options != training.ConstraintDefaults() || m.Version != training.ConstraintVersion {
		t.Errorf("the model %s is of %+v, the defaults are %+v", m.Version, r.Options, training.ConstraintDefaults())
	}
	again, err := training.ConstraintData(r.Options)
	if err != nil || again.Digest != r.Digest {
		t.Errorf("the data are others by now (%v): run `mneme-lab train constraint --out shared/formation/constraint/model.json`", err)
	}
	if r.Written.AUC < 0.85 || r.Heldout.AUC < 0.7 {
		t.Errorf("it tells what binds with AUC %v and %v", r.Written.AUC, r.Heldout.AUC)
	}
}

func TestConstraintsAreLearnedTheSameAgain(t *testing.T) {
	o := training.ConstraintDefaults()
	o.Epochs, o.Phrased = 1, 60
	var first []byte
	for range 2 {
		m, r, err := training.Constraint(o)
		if err != nil {
			t.Fatal(err)
		}
		data, err := training.EncodeFilter(m)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Error("the second model differs from the first")
		}
		if n := r.Labelled[corpus.BindsAlways] + r.Labelled[corpus.BindsNot]; n < 600 {
			t.Errorf("learned from %d labelled statements", n)
		}
		first = data
	}
}

func TestConstraintOptionsAreChecked(t *testing.T) {
	for field, change := range map[string]func(*training.ConstraintOptions){
		"phrased": func(o *training.ConstraintOptions) { o.Phrased = -1 },
		"passing": func(o *training.ConstraintOptions) { o.Passing = 1 },
		"epochs":  func(o *training.ConstraintOptions) { o.Epochs = 0 },
	} {
		o := training.ConstraintDefaults()
		change(&o)
		if _, _, err := training.Constraint(o); !fault.IsTerminal(err) || fault.Field(err) != field {
			t.Errorf("got %v, want a terminal error about %s", err, field)
		}
	}
}
