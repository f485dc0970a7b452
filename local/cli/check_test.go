package cli_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/modelcheck"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestCheckModel(t *testing.T) {
	t.Setenv("MNEME_LLM_BASE_URL", llmtest.New(t).Config().BaseURL)
	t.Setenv("MNEME_LLM_MODEL", "scripted")
	code, out, errOut := run(t, "check", "model", "--json", "--min-right", "0", "--price-in", "1", "--price-out", "4")
	var r modelcheck.Report
	if err := json.Unmarshal([]byte(out), &r); code != command.ExitOK || err != nil ||
		len(r.Roles) != len(modelcheck.Roles()) ||
		r.Roles[0].Form != modelcheck.FormNone || r.Roles[0].Window == nil || r.Roles[0].Window.Configured != 32768 {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out, errOut)
	}
	for _, role := range r.Roles {
		if want := float64(role.InputTokens+4*role.OutputTokens) / 1e6; want == 0 || math.Abs(role.Cost-want) > 1e-9 {
			t.Errorf("%s costs %g, want %g", role.Role, role.Cost, want)
		}
	}
	code, out, errOut = run(t, "check", "model", "--role", "filter,generator", "--errors", "--price-in", "1",
		"--price-out", "4")
	if code != command.ExitFailed || !strings.Contains(errOut, "--min-right") {
		t.Errorf("a model that understands nothing: exit code %d: %s", code, errOut)
	}
	for _, want := range []string{
		"filter", "generator", "scripted", "REPAIRED,", "OUTPUT", "none", "WINDOW", "unknown", "larger model", "wrong: ",
	} {
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
		{}, {"--role", "cook"}, {"--min-right", "2"}, {"--parallel", "0"}, {"--price-in", "-1"}, {"--window-probe", "-1"},
		{"more"},
	} {
		if code, _, errOut := run(t, append([]string{"check", "model"}, flags...)...); code != command.ExitUsage {
			t.Errorf("%v: exit code %d: %s", flags, code, errOut)
		}
	}
}

// The command stops when the first cases show that the endpoint is down. It also fails with --min-right 0.
func TestCheckModelStopsWhereTheEndpointIsNotThere(t *testing.T) {
	away := llmtest.New(t)
	away.Stop()
	limited := llmtest.New(t)
	limited.Always(llmtest.RateLimited("3600"))
	t.Setenv("MNEME_LLM_MODEL", "scripted")
	t.Setenv("MNEME_LLM_RETRY_MAX", "0")
	for name, c := range map[string]struct {
		server   *llmtest.Server
		code     int
		words    string
		requests int // at most: a client may wait for a Retry-After in all cases
	}{
		"away":    {server: away, code: command.ExitUnreachable, words: "did not answer"},
		"limited": {server: limited, code: command.ExitFailed, words: "rate limit", requests: 3 + 4},
	} {
		t.Setenv("MNEME_LLM_BASE_URL", c.server.Config().BaseURL)
		code, out, errOut := run(t, "check", "model", "--min-right", "0")
		if code != c.code || !strings.Contains(out, c.words) || !strings.Contains(out, "12 of 15: not asked") ||
			c.server.Total() > c.requests {
			t.Errorf("%s: exit code %d after %d requests: %s %s", name, code, c.server.Total(), out, errOut)
		}
	}
}
