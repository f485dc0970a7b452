package training_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestTheShippedModelOfWhatStandsIsOfTheDefaults(t *testing.T) {
	m, r, err := training.Standing(training.StandingDefaults())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../shared/ranking/standing/model.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(data)+"\n" {
		t.Error("training makes another model: run `mneme-lab train standing --out shared/ranking/standing/model.json`")
	}
	if r.Turns < 2_000 || r.Needed < 700 || r.AUC < 0.8 {
		t.Errorf("report %+v", r)
	}
}

func TestTrainingWhatStandsRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*training.StandingOptions){
		"cost": func(o *training.StandingOptions) { o.Cost = 0 }, "holders": func(o *training.StandingOptions) { o.Holders = 0 },
	} {
		o := training.StandingDefaults()
		change(&o)
		if _, _, err := training.Standing(o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
