package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/local/command"
)

func TestWrongUsageIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an unknown command", []string{"remember"}, command.ExitUsage, `"remember"`},
		{"fewer people than none", []string{"eval", "people", "--persons", "-1"}, command.ExitUsage, "--persons is -1"},
		{"a reward that is none", []string{"train", "policy", "--reward", "magic"}, command.ExitUsage, "reward: is"},
		{"a weak start with a layer", []string{"train", "policy", "--weak", "--hidden", "8"}, command.ExitUsage,
			"hidden: is 8"},
		{"a rate without end", []string{"train", "policy", "--rate", "Inf"}, command.ExitUsage, "rate +Inf"},
		{"more people to measure on than may be", []string{"train", "policy", "--held", "100000"}, command.ExitUsage,
			"--held is 100000"},
		{"more people of an experiment than may be", []string{"eval", "training", "--held", "100000"}, command.ExitUsage,
			"held: is 100000"},
		{"an option of another reward", []string{"train", "policy", "--local", "1"}, command.ExitUsage,
			"--local is for --reward horizon"},
		{"a store for nobody", []string{"train", "policy", "--redis", "r:1"}, command.ExitUsage, "--redis is for --temporal"},
		{"more drawn than memory holds", []string{"train", "policy", "--together", "2000", "--persons", "2000"},
			command.ExitUsage,
			"together: is 2000"},
		{"a group of one", []string{"train", "policy", "--group", "1"}, command.ExitUsage, "group: is 1"},
		{"a data set for nobody", []string{"export", "--tenant", "acme", "--out", "x"}, command.ExitUsage, "--for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := cli.Execute(t.Context(), tt.args, &out, &errOut)
			if code != tt.code || !strings.Contains(errOut.String(), tt.says) {
				t.Errorf("exit code %d, want %d; says %q, want %q", code, tt.code, &errOut, tt.says)
			}
		})
	}
}
