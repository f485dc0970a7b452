package saliency_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseModelRefusesWhatCannotDecide(t *testing.T) {
	for name, data := range map[string]string{
		"empty":           ``,
		"no object":       `[]`,
		"no version":      `{"threshold":0.5,"weights":{}}`,
		"no threshold":    `{"version":"x","weights":{}}`,
		"sure threshold":  `{"version":"x","threshold":1,"weights":{}}`,
		"unknown feature": `{"version":"x","threshold":0.5,"weights":{"height":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := saliency.ParseModel([]byte(data)); !errors.Is(err, saliency.ErrModel) {
				t.Errorf("got %v, want ErrModel", err)
			}
		})
	}
}

func TestNewFilterRefusesUnknownFeatures(t *testing.T) {
	if _, err := saliency.NewFilter(saliency.Model{Version: "x", Threshold: 0.5,
		Weights: map[string]float64{"height": 1}}); !errors.Is(err, saliency.ErrModel) {
		t.Errorf("got %v, want ErrModel", err)
	}
}

func FuzzParseModel(f *testing.F) {
	m, err := saliency.Trained()
	if err != nil {
		f.Fatal(err)
	}
	good, err := json.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":"x","threshold":0.5,"bias":1e308,"weights":{"told_rare":-1e308}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := saliency.ParseModel(data)
		if err != nil {
			return
		}
		if _, err := saliency.NewFilter(m); err != nil {
			t.Errorf("a parsed model makes no filter: %v", err)
		}
	})
}

func TestFeaturesHaveNames(t *testing.T) {
	names := saliency.FeatureNames()
	x := saliency.Features(memory.Turn{Speaker: "Ana", Text: "I sold my bike in Leeds yesterday, how is yours?"})
	if len(names) != len(x) || slices.Contains(names, "") {
		t.Fatalf("%d names for %d features: %q", len(names), len(x), names)
	}
	for i, v := range x {
		if v < 0 {
			t.Errorf("%s is %v, want at least 0", names[i], v)
		}
	}
	for _, name := range []string{"told_names", "told_times", "first_tells", "ends_asked"} {
		if x[slices.Index(names, name)] == 0 {
			t.Errorf("%s is not seen", name)
		}
	}
}
