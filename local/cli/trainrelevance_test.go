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

func TestTrainRelevanceWritesAModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "relevance.json")
	var out, errOut bytes.Buffer
	code := cli.Execute(
		t.Context(),
		[]string{"train", "relevance", "--dialogues", "2", "--users", "6", "--out", file, "--json"},
		&out,
		&errOut,
	)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var measures training.RelevanceReport
	if err := json.Unmarshal(out.Bytes(), &measures); err != nil || measures.Requests == 0 || len(measures.Heldout) != 1 {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ranking.DecodePrior(data, features.RelevanceSet, features.RelevanceNames()); err != nil {
		t.Error(err)
	}
}

func TestTrainRelevanceRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "relevance", "--users", "0"}, &out, &errOut); code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, cli.ExitUsage, &errOut)
	}
}
