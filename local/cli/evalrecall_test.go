package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/command"
)

// The command reports wrong flags before it starts any server.
func TestEvalRecallRefusesWrongFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.json")
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for names, flags := range map[string][]string{
		"no-such-file": {"--data", filepath.Join(t.TempDir(), "no-such-file")},
		"--candidates": {"--data", file, "--candidates", "201"},
		"--memories":   {"--data", file, "--candidates", "5", "--memories", "6"},
		"--workers":    {"--data", file, "--workers", "0"},
		"--users":      {"--data", file, "--users", "0"},
		"--extractor":  {"--data", file, "--extractor", "magic"},
		"--ablate":     {"--data", file, "--connect", "--ablate"},
		"no-other":     {"--data", file, "--data", filepath.Join(t.TempDir(), "no-other")},
		"--strategy":   {"--data", file, "--connect", "--strategy", "rmm"},
		"--policy":     {"--data", file, "--policy", "guess"},
		"--passes":     {"--data", file, "--learn", "--passes", "0"},
	} {
		code, out, errOut := run(t, append([]string{"eval", "recall"}, flags...)...)
		if code != command.ExitUsage || out != "" || !strings.Contains(errOut, names) {
			t.Errorf("%v: exit code %d, %q, want usage and %s", flags, code, errOut, names)
		}
	}
}

func TestEvalRecallSaysThatNothingRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.json")
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := run(t, "eval", "recall", "--data", file, "--connect", "--data-dir", t.TempDir())
	if code != command.ExitUnreachable || !strings.Contains(errOut, "mneme up") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}
