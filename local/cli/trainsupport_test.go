package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

func TestTrainSupportWritesAModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "support.json")
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), []string{"train", "support", "--conversations", "4", "--seed", "9", "--out", file, "--json"}, &out,
		&errOut)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var measures training.SupportReport
	if err := json.Unmarshal(out.Bytes(), &measures); err != nil || measures.Mistaken == 0 ||
		measures.Abstention <= measures.FalseAbstention {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ranking.DecodePrior(data, features.SupportSet, features.SupportNames()); err != nil {
		t.Error(err)
	}
}

func TestTrainSupportRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "support", "--conversations", "0"}, &out, &errOut); code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, cli.ExitUsage, &errOut)
	}
}
