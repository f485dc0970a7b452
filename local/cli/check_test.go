package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/modelcheck"
	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestCheckModel(t *testing.T) {
	t.Setenv("MNEME_LLM_BASE_URL", llmtest.New(t).Config().BaseURL)
	t.Setenv("MNEME_LLM_MODEL", "scripted")
	code, out, errOut := run(t, "check", "model", "--json", "--min-right", "0")
	var r modelcheck.Report
	if err := json.Unmarshal([]byte(out), &r); code != cli.ExitOK || err != nil || len(r.Roles) != len(modelcheck.Roles()) {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out, errOut)
	}
	code, out, errOut = run(t, "check", "model", "--role", "filter,generator", "--errors", "--price-in", "1", "--price-out", "4")
	if code != cli.ExitFailed || !strings.Contains(errOut, "--min-right") {
		t.Errorf("a model that understands nothing: exit code %d: %s", code, errOut)
	}
	for _, want := range []string{"filter", "generator", "scripted", "VALID AT FIRST", "larger model", "wrong: "} {
		if !strings.Contains(out, want) {
			t.Errorf("prints no %q: %s", want, out)
		}
	}
	if strings.Contains(out, "manager") {
		t.Errorf("prints a role that was not asked for: %s", out)
	}
}

func TestCheckModelRefusesWhatCannotBe(t *testing.T) {
	t.Setenv("MNEME_LLM_MODEL", "")
	for _, flags := range [][]string{
		{}, {"--role", "cook"}, {"--min-right", "2"}, {"--parallel", "0"}, {"--price-in", "-1"}, {"more"},
	} {
		if code, _, errOut := run(t, append([]string{"check", "model"}, flags...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d: %s", flags, code, errOut)
		}
	}
}
