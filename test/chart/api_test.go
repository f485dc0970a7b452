//go:build chart

package chart_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// validator checks objects against the schemas of Kubernetes' API. make test-chart installs it.
const validator = "../../.cache/tools/kubectl-validate"

// definitions are the chart's kinds outside Kubernetes itself, by the modules that define them.
var definitions = map[string][]string{
	"github.com/kedacore/keda/v2@v2.21.0": {
		"config/crd/bases/keda.sh_scaledobjects.yaml", "config/crd/bases/keda.sh_triggerauthentications.yaml",
	},
	"github.com/prometheus-operator/prometheus-operator@v0.85.0": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
	"sigs.k8s.io/gateway-api@v1.6.3": {"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
}

// defined copies the definitions into a folder.
func defined(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for module, paths := range definitions {
		out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
		if err != nil {
			t.Fatalf("download %s: %v", module, err)
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(out, &downloaded); err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(filepath.Join(downloaded.Dir, path))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(path)), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}

func TestObjectsAreAsTheAPIWantsThem(t *testing.T) {
	t.Parallel()
	folder := defined(t)
	validate := func(t *testing.T, content string) (string, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "objects.yaml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), validator, path, "--version", "1.30", "--local-crds",
			folder).CombinedOutput()
		return string(out), err
	}
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			content, err := helm(t, []string{"template", "mneme", chart, "--namespace", "memory"}, values...)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := validate(t, content); err != nil {
				t.Error(out, err)
			}
		})
	}
	t.Run("wrong ones are found", func(t *testing.T) {
		for _, wrong := range []string{
			"{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {port: 1}}",
			"{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: x}, spec: {scaleTargetRef: {name: x}, triggers: none}}",
		} {
			if out, err := validate(t, wrong); err == nil {
				t.Errorf("%s was taken: %s", wrong, out)
			}
		}
	})
}
