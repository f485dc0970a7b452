package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/model/classifier"
)

func TestTrainFilterWritesAModel(t *testing.T) {
	dir := t.TempDir()
	file, earlier := filepath.Join(dir, "model.json"), filepath.Join(dir, "earlier.json")
	if err := os.WriteFile(file, []byte("earlier"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, earlier); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	line := []string{"train", "filter", "--persons", "4", "--epochs", "1", "--seed", "9", "--out", file, "--json"}
	code := cli.Execute(t.Context(), line, &out, &errOut)
	if code != command.ExitOK {
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
	if m, err := classifier.Parse[saliency.Model](data); err != nil || m.Threshold != measures.Threshold {
		t.Errorf("wrote %+v, %v; printed threshold %v", m, err, measures.Threshold)
	}
	// The earlier file is replaced, not written over, and no temporary file is left.
	if kept, err := os.ReadFile(earlier); err != nil || string(kept) != "earlier" {
		t.Errorf("of the earlier file %d bytes are left, %v", len(kept), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("files %v, %v", files, err)
	}
}

// A started training ends with the context. The command reports an impossible file before the training.
func TestTrainFirstLooksWhetherTheFileCanBeMade(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"policy", "reranker", "support", "relevance"} {
		for _, file := range []string{filepath.Join(dir, "missing", "a.json"), dir} {
			var out, errOut bytes.Buffer
			code := cli.Execute(ctx, []string{"train", name, "--out", file}, &out, &errOut)
			if code != command.ExitUsage || !strings.Contains(errOut.String(), "--out: ") ||
				!strings.Contains(errOut.String(), file) {
				t.Errorf("%s to %s: exit code %d: %s", name, file, code, &errOut)
			}
		}
	}
	var out, errOut bytes.Buffer
	code := cli.Execute(ctx, []string{"train", "policy", "--out", filepath.Join(dir, "a.json")}, &out, &errOut)
	if code == command.ExitOK || !strings.Contains(errOut.String(), context.Canceled.Error()) {
		t.Errorf("to a file that can be made: exit code %d: %s", code, &errOut)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestTrainFilterRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "filter", "--persons", "1"}, &out,
		&errOut); code != command.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, command.ExitUsage, &errOut)
	}
}

func TestTrainWritesModelsOfStatements(t *testing.T) {
	for name, options := range map[string][]string{"constraint": {"--phrased", "30"}, "commitment": nil} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "model.json")
			var out, errOut bytes.Buffer
			line := append([]string{"train", name, "--epochs", "1", "--seed", "9", "--out", file, "--json"}, options...)
			if code := cli.Execute(t.Context(), line, &out, &errOut); code != command.ExitOK {
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
			if m, err := classifier.Parse[saliency.Model](data); err != nil || m.Threshold != measures.Threshold {
				t.Errorf("wrote %+v, %v; printed threshold %v", m, err, measures.Threshold)
			}
		})
	}
}

// The output without --json has a line for each member of the record.
func TestTrainPrintsItsRecord(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "standing", "--holders", "50"}, &out,
		&errOut); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	for _, want := range []string{"\noptions:\n  cost: 0.1\n  holders: 50\nturns: ", "\nheldout_auc: 0."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %q, want %q in it", &out, want)
		}
	}
}
