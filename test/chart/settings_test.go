//go:build chart

package chart_test

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// components are the components of each binary.
var components = map[string][]string{
	"gateway": {"gateway"}, "utilizer": {"utilizer"}, "reranker": {"reranker"}, "saliency-filter": {"saliency-filter"},
	"booster": {"booster-intake", "booster-attribution", "booster-workflow", "booster-model", "booster-store"},
}

// refused matches the settings that extraEnv refuses because a value sets them.
var refused = regexp.MustCompile(`extraEnv\.([A-Z_]+): is (?:set by the value|the chart's own|a secret)`)

// TestEverySettingCanBeSet sets all settings of all services by extraEnv. Values set the remaining ones, and
// ci/everything contains these values.
func TestEverySettingCanBeSet(t *testing.T) {
	extra := map[string]any{}
	for _, s := range standalone.AllServices() {
		for _, row := range s.Settings() {
			extra[row.Name] = "any"
		}
	}
	_, err := helm(t, []string{"template", "mneme", chart}, valuesOf(t, map[string]any{"extraEnv": extra}))
	if err == nil {
		t.Fatal("settings that values stand for were taken by extraEnv, too")
	}
	byValue := map[string]bool{}
	for _, found := range refused.FindAllStringSubmatch(err.Error(), -1) {
		byValue[found[1]] = true
		delete(extra, found[1])
	}
	if len(byValue) == 0 {
		t.Fatal(err)
	}
	byExtra := render(t, valuesOf(t, map[string]any{"extraEnv": extra}))
	everything := render(t, chart+"/ci/everything-values.yaml")
	for _, s := range standalone.AllServices() {
		for _, component := range components[s.Name()] {
			given, _ := byExtra.settings(component)
			values, elsewhere := everything.settings(component)
			for _, row := range s.Settings() {
				_, own := values[row.Name]
				switch {
				case !byValue[row.Name] && given[row.Name] != "any":
					t.Errorf("%s: %s cannot be set by extraEnv", component, row.Name)
				case byValue[row.Name] && !own && !slices.Contains(elsewhere, row.Name):
					t.Errorf("%s: %s cannot be set by its value", component, row.Name)
				case row.Secret && own:
					t.Errorf("%s: %s, a secret, is readable", component, row.Name)
				}
			}
		}
	}
}

func TestWhatIsNoSettingIsRefused(t *testing.T) {
	env := func(setting string) map[string]any { return map[string]any{"extraEnv": map[string]any{setting: "8"}} }
	authorities := env("SSL_CERT_DIR")
	authorities["certificateAuthorities"] = map[string]any{"existingSecret": "x"}
	of := func(place, setting string) map[string]any { return map[string]any{place: env(setting)} }
	pod := func(job, setting string) map[string]any { return map[string]any{job: of("pod", setting)} }
	for name, tt := range map[string]struct {
		values map[string]any
		want   string
	}{
		"nothing": {env("MNEME_KAFKA_BROKER"), "extraEnv.MNEME_KAFKA_BROKER: there is no such setting"},
		"not of the binary": {map[string]any{"components": map[string]any{"gateway": env("MNEME_BOOSTER_MODEL_PARALLEL")}},
			"components.gateway.extraEnv.MNEME_BOOSTER_MODEL_PARALLEL: there is no such setting"},
		"a secret":  {env("MNEME_LLM_API_KEY"), "is a secret, and set by the value model.apiKey"},
		"telemetry": {env("OTEL_SERVICE_NAME"), "extraEnv.OTEL_SERVICE_NAME: there is no such setting"},

		"a secret of all": {of("defaults", "MNEME_KAFKA_PASSWORD"), "defaults.extraEnv.MNEME_KAFKA_PASSWORD: is a secret"},
		"the chart's": {of("defaults", "MNEME_HTTP_ADDR"),
			"defaults.extraEnv.MNEME_HTTP_ADDR: is the chart's own to set"},
		"a secret of a job": {pod("migration", "MNEME_KAFKA_PASSWORD"),
			"migration.pod.extraEnv.MNEME_KAFKA_PASSWORD: is a secret"},
		"not of the job": {pod("migration", "MNEME_BOOSTER_MODEL_PARALLEL"),
			"migration.pod.extraEnv.MNEME_BOOSTER_MODEL_PARALLEL: there is no such"},
		"not of the test": {pod("test", "MNEME_URL"), "test.pod.extraEnv.MNEME_URL: there is no such setting"},
		"Kubernetes' unit": {map[string]any{"defaults": map[string]any{"extraEnv": map[string]any{"GOMEMLIMIT": "400Mi"}}},
			"defaults.extraEnv.GOMEMLIMIT: is 400Mi, want"},
		"another's directory": {authorities, "extraEnv.SSL_CERT_DIR: is set by the value certificateAuthorities"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t, []string{"template", "mneme", chart}, valuesOf(t, tt.values))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// TestServicesTakeTheirSettings makes each service and mneme migrate check the settings from the chart.
func TestServicesTakeTheirSettings(t *testing.T) {
	for name, values := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			all := render(t, values...)
			for _, s := range standalone.AllServices() {
				for _, component := range components[s.Name()] {
					environ := environOf(t, all, component)
					var complaints bytes.Buffer
					code := runner.Execute(t.Context(), s, []string{"--check-config"}, io.Discard,
						runner.Options{Environ: environ, Stderr: &complaints})
					if code != runner.ExitOK {
						t.Errorf("%s: exit code %d: %s", component, code, complaints.String())
					}
				}
			}
			if _, err := config.Load[wiring.Migration](environOf(t, all, "migrate")); err != nil {
				t.Errorf("migrate: %v", err)
			}
		})
	}
}

// environOf returns a container's environment. A variable from a reference gets a text that is valid for every
// secret, headers included.
func environOf(t *testing.T, all objects, component string) map[string]string {
	t.Helper()
	values, elsewhere := all.settings(component)
	if len(values) == 0 {
		t.Fatalf("%s has no settings", component)
	}
	for _, name := range elsewhere {
		if name != "MNEME_LLM_TENANT_WEIGHTS" { // a map in ci/everything
			values[name] = "name=sixteen-bytes-it-is"
		}
	}
	return values
}
