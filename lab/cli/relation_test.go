package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

func TestTrainRelationWritesAModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.bin")
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), []string{"train", "relation", "--rounds", "1", "--most", "60", "--out", file,
		"--json"}, &out, &errOut)
	if code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var r training.RelationRecord
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Statements == 0 {
		t.Errorf("printed %q: %v", &out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := relation.Parse(data, wordvector.Shipped()); err != nil {
		t.Error(err)
	}
}

func TestEvalRelationMeasuresTheShippedModel(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"eval", "relation", "--split", "choose", "--json"}, &out,
		&errOut); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var r map[string]struct {
		Statements int
		Certain    struct{ Right float64 }
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pairs", "among_strangers", "banks"} {
		if r[name].Statements < 300 || r[name].Certain.Right == 0 {
			t.Errorf("%s: %+v", name, r[name])
		}
	}
}

func TestRelationCommandsRefuseWhatCannotBe(t *testing.T) {
	for says, line := range map[string][]string{
		"rounds": {"train", "relation", "--rounds", "0"}, "--split": {"eval", "relation", "--split", "all"},
		"--errors": {"eval", "relation", "--errors", "-1"},
	} {
		var out, errOut bytes.Buffer
		if code := cli.Execute(t.Context(), line, &out, &errOut); code != command.ExitUsage ||
			!strings.Contains(errOut.String(), says) {
			t.Errorf("%v: exit code %d, %s", line, code, &errOut)
		}
	}
}

func TestEvalCasesCountsEveryStatement(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := cli.Execute(t.Context(), []string{"eval", "cases", "--strategy", "salimory", "--json"}, &out,
		&errOut); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var r map[string]struct{ Keep, Kept, Close, Closed int }
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if s := r["salimory"]; s.Keep < 150 || s.Kept*10 < s.Keep*7 || s.Close < 50 || s.Closed == 0 {
		t.Errorf("%+v", s)
	}
}
