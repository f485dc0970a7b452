package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
)

func TestTrainChangesWritesAModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "changes.json")
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), []string{"train", "changes", "--persons", "1", "--rounds", "1", "--trees", "3", "--seed", "9", "--out",
		file, "--json"}, &out, &errOut)
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var measures link.Trained
	if err := json.Unmarshal(out.Bytes(), &measures); err != nil || measures.Examples == 0 {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := link.Parse(data, embedded.Features()); err != nil || m.Trained != measures {
		t.Errorf("wrote %+v, %v; printed %+v", m, err, measures)
	}
}

func TestTrainChangesRefusesWhatCannotBe(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"train", "changes", "--persons", "0"}, &out, &errOut); code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d: %s", code, cli.ExitUsage, &errOut)
	}
}
