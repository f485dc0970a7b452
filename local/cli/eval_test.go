package cli_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/command"
)

func TestAStrategyIsMeasuredOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	line := `{"user_id":"ana","session_id":"s1","text":"I live in Porto.","time":"` + atNoon + `"}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := run(t, "eval", "formation", "--data", file, "--strategy", "rmm,salimory,rmm", "--strategy",
		"salimory")
	if code != command.ExitOK || strings.Count(errOut, "rmm, embedded") != 1 ||
		strings.Count(errOut, "salimory, embedded") != 1 {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	if strings.Index(errOut, "rmm,") > strings.Index(errOut, "salimory,") {
		t.Errorf("the first is not on top: %q", errOut)
	}
}

// Without the flag, each strategy is measured in the mode of its tenants.
func TestStrategiesAreMeasuredInTheirModes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	line := `{"user_id":"ana","session_id":"s1","text":"Hi!","time":"` + atNoon + `"}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]map[string]struct {
		Saliency string
		Dropped  float64 `json:"dropped_share"`
	}{
		"":     {"salimory": {"gate", 1}, "rmm": {"mark", 0}},
		"gate": {"salimory": {"gate", 1}, "rmm": {"gate", 1}},
		"mark": {"salimory": {"mark", 0}, "rmm": {"mark", 0}},
		"off":  {"salimory": {"off", 0}, "rmm": {"off", 0}},
	} {
		args := []string{"eval", "formation", "--json", "--data", file, "--strategy", "rmm,salimory"}
		if mode != "" {
			args = append(args, "--saliency", mode)
		}
		code, out, errOut := run(t, args...)
		var report struct {
			Strategies *map[string]struct {
				Saliency string
				Dropped  float64 `json:"dropped_share"`
			}
		}
		err := json.Unmarshal([]byte(out), &report)
		if code != command.ExitOK || err != nil || report.Strategies == nil || !maps.Equal(*report.Strategies, want) {
			t.Errorf("%q: exit code %d, %s, %v, %s, want %v", mode, code, out, err, errOut, want)
		}
	}
}

func TestASheetIsSampledLabelledAndCounted(t *testing.T) {
	dir := t.TempDir()
	file, sheet := filepath.Join(dir, "talk.jsonl"), filepath.Join(dir, "sheet.jsonl")
	line := `{"user_id":"ana","session_id":"s1","text":"I live in Porto.","time":"` + atNoon + `"}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	sample := []string{"eval", "formation", "--data", file, "--sample", "5", "--out", sheet}
	if code, _, errOut := run(t, sample...); code != command.ExitOK || !strings.Contains(errOut, "1 memories in ") {
		t.Fatalf("exit code %d, %s", code, errOut)
	}
	if code, _, errOut := run(t, sample...); code != command.ExitUsage || !strings.Contains(errOut, "exists") {
		t.Errorf("a sheet is never overwritten: exit code %d, %s", code, errOut)
	}
	if code, _, errOut := run(t, "eval", "formation", "--labels", sheet); code != command.ExitUsage ||
		!strings.Contains(errOut, `line 1: worth is ""`) {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	text, err := os.ReadFile(sheet)
	if err != nil {
		t.Fatal(err)
	}
	labelled := strings.NewReplacer(`"worth":""`, `"worth":"part"`, `:""`, `:"yes"`).Replace(string(text))
	if err := os.WriteFile(sheet, []byte(labelled), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := run(t, "eval", "formation", "--labels", sheet); code != command.ExitOK ||
		!strings.Contains(out, "in part 100.0 %") || !strings.Contains(out, "clear alone 100.0 %") {
		t.Errorf("exit code %d, %s, %s", code, out, errOut)
	}
	for _, wrong := range [][]string{{"--data", ""}, {"--data", file, "--sample", "5"}, {"--data", file, "--out", sheet}} {
		if code, _, _ := run(t, append([]string{"eval", "formation"}, wrong...)...); code != command.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", wrong, code, command.ExitUsage)
		}
	}
}
