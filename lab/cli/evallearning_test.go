package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/lab/practice"
	"github.com/mneme-memory/mneme/local/command"
)

// evalLearning runs the command as a user types it. run would add a data folder, which this command lacks.
func evalLearning(t *testing.T, flags ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Execute(t.Context(), append([]string{"eval", "learning"}, flags...), &o, &e)
	return code, o.String(), e.String()
}

func TestEvalLearningRefusesWrongFlags(t *testing.T) {
	for says, flags := range map[string][]string{
		"steps":         {"--steps", "0"},
		"every":         {"--every", "0"},
		"candidates":    {"--candidates", "201"},
		"shown":         {"--candidates", "5", "--memories", "6"},
		"conversations": {"--conversations", "2"},
		"seeds":         {"--seeds", "0"},
		"--plot":        {"--plot", "curves.txt"},
		"no-such-file":  {"--data", filepath.Join(t.TempDir(), "no-such-file")},
	} {
		code, out, errOut := evalLearning(t, flags...)
		if code != command.ExitUsage || out != "" || !strings.Contains(errOut, says) {
			t.Errorf("%v: exit code %d, %q, want usage and %s", flags, code, errOut, says)
		}
	}
}

func TestEvalLearningReadsTheRerankersSettings(t *testing.T) {
	t.Setenv("MNEME_RERANKER_FEATURE_RATE", "7")
	code, _, errOut := evalLearning(t)
	if code != command.ExitUsage || !strings.Contains(errOut, "MNEME_RERANKER_FEATURE_RATE") {
		t.Errorf("exit code %d, %q, want usage and the setting", code, errOut)
	}
}

// shopping is one user's talk, with a question for each of three turns.
const shopping = `[{"sample_id":"iris","conversation":{"speaker_a":"Iris","speaker_b":"Bo","session_1_date_time":"1:00 pm on 4 March, 2024",
	"session_1":[
		{"speaker":"Iris","dia_id":"D1:1","text":"I bought a green tandem in Bergen."},
		{"speaker":"Bo","dia_id":"D1:2","text":"I work as a baker."},
		{"speaker":"Iris","dia_id":"D1:3","text":"My sister moved to Oslo."}]},
	"qa":[
		{"question":"What did Iris buy?","answer":"tandem","evidence":["D1:1"],"category":4},
		{"question":"What is Bo's job?","answer":"baker","evidence":["D1:2"],"category":4},
		{"question":"Where did the sister move?","answer":"Oslo","evidence":["D1:3"],"category":4}]}]`

func TestEvalLearningOfAFile(t *testing.T) {
	dir := t.TempDir()
	file, drawn := filepath.Join(dir, "talk.json"), filepath.Join(dir, "curves.svg")
	if err := os.WriteFile(file, []byte(shopping), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := evalLearning(t, "--json", "--data", file, "--steps", "2", "--memories", "1", "--plot", drawn)
	if code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	var report practice.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	// Two starts, three shares of wrong citations, and one tenant, as there is one user.
	if len(report.Runs) != 6 || len(report.Tenants) != 1 || report.Steps != 2 || report.Shown != 1 {
		t.Errorf("%d runs of %d tenants with %d steps and %d shown", len(report.Runs), len(report.Tenants), report.Steps,
			report.Shown)
	}
	if svg, err := os.ReadFile(drawn); err != nil || !strings.Contains(string(svg), "</svg>") {
		t.Errorf("the plot is not drawn: %v", err)
	}
}
