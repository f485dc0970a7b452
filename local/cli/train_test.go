package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

func TestTrainFilterWritesAModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.json")
	var out, errOut bytes.Buffer
	line := []string{"train", "filter", "--persons", "4", "--epochs", "1", "--seed", "9", "--out", file, "--json"}
	code := cli.Execute(t.Context(), line, &out, &errOut)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var measures struct {
		Turns     int     `json:"turns"`
		Threshold float64 `json:"threshold"`
	}
	if err := json.Unmarshal(out.Bytes(), &measures); err != nil || measures.Turns == 0 {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := saliency.ParseModel(data); err != nil || m.Threshold != measures.Threshold {
		t.Errorf("wrote %+v, %v; printed threshold %v", m, err, measures.Threshold)
	}
}

func TestTrainFilterRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "filter", "--persons", "1"}, &out, &errOut); code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, cli.ExitUsage, &errOut)
	}
}

func TestTrainWritesModelsOfStatements(t *testing.T) {
	for name, options := range map[string][]string{"constraint": {"--phrased", "30"}, "commitment": nil} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "model.json")
			var out, errOut bytes.Buffer
			line := append([]string{"train", name, "--epochs", "1", "--seed", "9", "--out", file, "--json"}, options...)
			if code := cli.Execute(t.Context(), line, &out, &errOut); code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", code, &errOut)
			}
			var measures struct {
				Threshold float64 `json:"threshold"`
			}
			if err := json.Unmarshal(out.Bytes(), &measures); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := saliency.ParseModel(data); err != nil || m.Threshold != measures.Threshold {
				t.Errorf("wrote %+v, %v; printed threshold %v", m, err, measures.Threshold)
			}
		})
	}
}
