//go:build chart

package chart_test

import (
	"os/exec"
	"strings"
	"testing"
)

// scorer looks for what objects had better not lack; make test-chart installs it.
const scorer = "../../.cache/tools/kube-score"

// TestNothingCriticalIsMissing has kube-score judge what is rendered. Two of its rules are not ours: a limit of processor time makes
// answers late, and images are named by versions that do not change, so that a pod starts while their registry is away. The small set is
// for clusters without network policies.
func TestNothingCriticalIsMissing(t *testing.T) {
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			content, err := helm(t, []string{"template", "mneme", chart, "--namespace", "memory"}, values...)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"score", "-", "--output-format", "ci", "--kubernetes-version", "v1.30", "--ignore-container-cpu-limit",
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
