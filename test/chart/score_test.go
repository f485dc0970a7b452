//go:build chart

package chart_test

import (
	"os/exec"
	"strings"
	"testing"
)

// scorer checks objects for missing recommended settings. make test-chart installs it.
const scorer = "../../.cache/tools/kube-score"

// TestNothingCriticalIsMissing runs kube-score on the rendered chart. It disables two rules. A limit of processor
// time slows answers, so the chart sets none. Image tags are fixed versions, so a pod can start while the registry is
// down. The small set of values is for clusters without network policies.
func TestNothingCriticalIsMissing(t *testing.T) {
	t.Parallel()
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			content, err := helm(t, []string{"template", "mneme", chart, "--namespace", "memory"}, values...)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"score", "-", "--output-format", "ci", "--kubernetes-version", "v1.30",
				"--ignore-container-cpu-limit",
				"--ignore-test", "container-image-pull-policy"}
			if name == "small" {
				args = append(args, "--ignore-test", "pod-networkpolicy")
			}
			cmd := exec.CommandContext(t.Context(), scorer, args...)
			cmd.Stdin = strings.NewReader(content)
			out, err := cmd.Output()
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "[CRITICAL]") {
					t.Error(strings.TrimSpace(line))
				}
			}
			if err != nil && !t.Failed() {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), "[OK]") {
				t.Errorf("nothing was judged: %.200s", out)
			}
		})
	}
}
