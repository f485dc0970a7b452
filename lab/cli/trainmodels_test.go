package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// The commands write models of the shared prior's scores in the prior's form.
func TestTrainWritesModelsOfThePriorsScores(t *testing.T) {
	var support training.SupportReport
	var relevance training.RelevanceReport
	for name, c := range map[string]struct {
		flags    []string
		measures any
		set      string
		names    []string
	}{
		"support": {[]string{"--conversations", "2", "--seed", "9"}, &support, features.SupportSet,
			features.SupportNames()},
		"relevance": {[]string{"--dialogues", "2", "--users", "3"}, &relevance, features.RelevanceSet,
			features.RelevanceNames()},
	} {
		file := filepath.Join(t.TempDir(), name+".json")
		var out, errOut bytes.Buffer
		args := append([]string{"train", name, "--out", file, "--json"}, c.flags...)
		if code := cli.Execute(t.Context(), args, &out, &errOut); code != command.ExitOK {
			t.Fatalf("%s: exit code %d: %s", name, code, &errOut)
		}
		if err := json.Unmarshal(out.Bytes(), c.measures); err != nil {
			t.Errorf("%s: printed %q: %v", name, &out, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ranking.DecodePrior(data, c.set, c.names); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if support.Mistaken == 0 || support.Abstention <= support.FalseAbstention || relevance.Requests == 0 ||
		len(relevance.Heldout) != 1 {
		t.Errorf("measured %+v and %+v", support, relevance)
	}
}

func TestTrainRefusesWhatCannotBe(t *testing.T) {
	for _, args := range [][]string{{"support", "--conversations", "0"}, {"relevance", "--users", "0"}} {
		var out, errOut bytes.Buffer
		if code := cli.Execute(t.Context(), append([]string{"train"}, args...), &out, &errOut); code != command.ExitUsage {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, command.ExitUsage, &errOut)
		}
	}
}
