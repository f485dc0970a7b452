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

func TestTrainRerankerWritesAPrior(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prior.json")
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), []string{"train", "reranker", "--conversations", "1", "--seed", "9", "--out", file, "--json"}, &out,
		&errOut)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var measures training.PriorReport
	if err := json.Unmarshal(out.Bytes(), &measures); err != nil || measures.Questions == 0 || measures.Recall20 <= measures.Recall5 {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ranking.DecodePrior(data, features.FeatureSet, features.Names()); err != nil {
		t.Error(err)
	}
}

func TestTrainRerankerRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "reranker", "--conversations", "0"}, &out, &errOut); code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, cli.ExitUsage, &errOut)
	}
}
