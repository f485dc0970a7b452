package training_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
)

// The model takes no chosen or held-out statement that later conversations need for a statement of the moment.
func TestTheShippedModelOfTheMomentIsOfTheDefaults(t *testing.T) {
	m, r, err := training.Moment(training.MomentDefaults())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../shared/formation/moment/model.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(data)+"\n" {
		t.Error("training makes another model: run `mneme-lab train moment --out shared/formation/moment/model.json`")
	}
	for name, f := range map[string]training.MomentFigures{
		"chosen": r.Chosen, "held out": r.Heldout, "written": r.Written, "dialogues": r.Needed,
	} {
		if f.Lasting == 0 || f.Lost > 0 {
			t.Errorf("%s: %d of %d that last are lost", name, f.Lost, f.Lasting)
		}
	}
	if 8*r.Written.Found < r.Written.Passing {
		t.Errorf("found %d of %d of the moment", r.Written.Found, r.Written.Passing)
	}
}

func TestTrainingOfTheMomentRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*training.MomentOptions){
		"cost": func(o *training.MomentOptions) { o.Cost = 0 }, "holders": func(o *training.MomentOptions) { o.Holders = 0 },
		"repeats": func(o *training.MomentOptions) { o.Repeats = 0 },
	} {
		o := training.MomentDefaults()
		change(&o)
		if _, _, err := training.Moment(o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
