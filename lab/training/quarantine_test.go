package training_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestTheShippedModelOfAttacksIsOfTheDefaults(t *testing.T) {
	m, r, err := training.Quarantine(training.QuarantineDefaults())
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../shared/formation/quarantine/model.bin")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, data) {
		t.Error("training makes another model: run `mneme-lab train quarantine --out shared/formation/quarantine/model.bin`")
	}
	if len(have) > 300_000 {
		t.Errorf("the model has %d bytes", len(have))
	}
	if f := r.Mixed; f.Harmless < 2000 || 500*f.Taken > f.Harmless || 20*f.Doubted > f.Harmless || 100*f.Missed > 70*f.Hostile ||
		100*f.Trusted > 30*f.Hostile {
		t.Errorf("of folds left out it takes and misses %+v", f)
	}
}

func TestTrainingOfAttacksRefusesWhatCannotBe(t *testing.T) {
	for field, change := range map[string]func(*training.QuarantineOptions){
		"alarms": func(o *training.QuarantineOptions) { o.Alarms = 0 }, "epochs": func(o *training.QuarantineOptions) { o.Epochs = 0 },
		"doubts": func(o *training.QuarantineOptions) { o.Doubts = o.Alarms / 2 },
		"rate":   func(o *training.QuarantineOptions) { o.Rate = 0 }, "plain": func(o *training.QuarantineOptions) { o.Plain = -1 },
		"decay": func(o *training.QuarantineOptions) { o.Decay = -1 },
	} {
		o := training.QuarantineDefaults()
		change(&o)
		if _, _, err := training.Quarantine(o); !fault.IsTerminal(err) || fault.Field(err) != field {
			t.Errorf("got %v, want a terminal error about %s", err, field)
		}
	}
}
