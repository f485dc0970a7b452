package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestAModelThatCannotJudgeIsRefused(t *testing.T) {
	t.Setenv("MNEME_LLM_MODEL", "")
	t.Setenv("MNEME_JUDGE_MODEL", "")
	for want, line := range map[string][]string{
		"MNEME_LLM_*":     {"--reward", "stages"},
		"--reward stages": {"--reward", "dense"},
		"--temporal":      {"--reward", "stages", "--temporal", "127.0.0.1:1"},
	} {
		var out, errOut bytes.Buffer
		line = append([]string{"train", "policy", "--judge", "--out", filepath.Join(t.TempDir(), "a.json")}, line...)
		if code := cli.Execute(t.Context(), line, &out, &errOut); code != command.ExitUsage ||
			!strings.Contains(errOut.String(), want) {
			t.Errorf("%v: exit code %d: %s", line, code, &errOut)
		}
	}
}

// A refusing model ends the training, and the command writes no policy.
func TestAJudgeThatFailsEndsTheTraining(t *testing.T) {
	server := llmtest.New(t)
	server.Always(llmtest.Refusal())
	t.Setenv("MNEME_LLM_BASE_URL", server.URL)
	t.Setenv("MNEME_LLM_MODEL", "scripted")
	t.Setenv("MNEME_JUDGE_MODEL", "")
	file := filepath.Join(t.TempDir(), "a.json")
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), []string{
		"train", "policy", "--reward", "stages", "--judge", "--persons", "1", "--sessions", "2", "--group", "2", "--held",
		"0", "--out", file,
	}, &out, &errOut)
	if code == command.ExitOK || !strings.Contains(errOut.String(), "refused to answer") || server.Count("judge") == 0 {
		t.Errorf("exit code %d after %d calls: %s", code, server.Count("judge"), &errOut)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a policy was written: %v", err)
	}
}
