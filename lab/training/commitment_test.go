package training_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

func TestTheCommittedModelOfCommitmentsIsOfTheDefaults(t *testing.T) {
	committed, err := os.ReadFile("../../shared/formation/saliency/commitment.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := saliency.ParseModel(committed)
	if err != nil {
		t.Fatal(err)
	}
	var r training.CommitmentRecord
	if err := json.Unmarshal(m.Training, &r); err != nil {
		t.Fatal(err)
	}
	if r.Options != training.CommitmentDefaults() || m.Version != training.CommitmentVersion {
		t.Errorf("the model %s is of %+v, the defaults are %+v", m.Version, r.Options, training.CommitmentDefaults())
	}
	again, err := training.CommitmentData(r.Options)
	if err != nil || again.Digest != r.Digest {
		t.Errorf("the data are others by now (%v): run `mneme-lab train commitment --out shared/formation/saliency/commitment.json`", err)
	}
	if h := r.Heldout; h.Others < 150 || 50*h.OthersPassed > h.Others || 4*h.CommitPassed < h.Commit {
		t.Errorf("of sentences held out it passes %+v", h)
	}
}

func TestCommitmentsAreLearnedTheSameAgain(t *testing.T) {
	o := training.CommitmentDefaults()
	o.Epochs = 1
	var first []byte
	for range 2 {
		m, _, err := training.Commitment(o)
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
		first = data
	}
}

func TestCommitmentOptionsAreChecked(t *testing.T) {
	for field, change := range map[string]func(*training.CommitmentOptions){
		"passing": func(o *training.CommitmentOptions) { o.Passing = 1 },
		"epochs":  func(o *training.CommitmentOptions) { o.Epochs = 0 },
	} {
		o := training.CommitmentDefaults()
		change(&o)
		if _, _, err := training.Commitment(o); !fault.IsTerminal(err) || fault.Field(err) != field {
			t.Errorf("got %v, want a terminal error about %s", err, field)
		}
	}
}
