package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/cli"
)

func TestAStrategyIsMeasuredOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	line := `{"user_id":"ana","session_id":"s1","text":"I live in Porto.","time":"` + atNoon + `"}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := run(t, "eval", "formation", "--data", file, "--persons", "0", "--strategy", "rmm,salimory,rmm", "--strategy",
		"salimory")
	if code != cli.ExitOK || strings.Count(errOut, "rmm, embedded") != 1 || strings.Count(errOut, "salimory, embedded") != 1 {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	if strings.Index(errOut, "rmm,") > strings.Index(errOut, "salimory,") {
		t.Errorf("the first is not on top: %q", errOut)
	}
}
