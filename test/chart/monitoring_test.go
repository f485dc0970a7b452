//go:build chart

package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"
)

// The chart installs alerts and dashboards exactly as in the files, with every brace, and with the labels that
// Prometheus and Grafana select.
func TestAlertsAndDashboardsAreInstalledAsTheyAre(t *testing.T) {
	all := render(t, valuesOf(t, map[string]any{
		"kafka":          map[string]any{"brokers": []string{"kafka:9092"}},
		"redis":          map[string]any{"addresses": []string{"redis:6379"}},
		"temporal":       map[string]any{"address": "temporal:7233"},
		"weaviate":       map[string]any{"http": "weaviate:80", "grpc": "weaviate:50051"},
		"serviceMonitor": map[string]any{"enabled": true},
		"prometheusRule": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
		"dashboards":     map[string]any{"enabled": true, "labels": map[string]any{"board": "yes"}},
	}))
	paths, err := filepath.Glob(chart + "/files/dashboards/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("dashboards %v: %v", paths, err)
	}
	found := map[string]string{}
	for _, o := range all {
		if o.kind() != "ConfigMap" || at[string](o, "metadata", "labels", "board") != "yes" {
			continue
		}
		for name, content := range at[map[string]any](o, "data") {
			found[name] = content.(string)
		}
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(content, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(found[filepath.Base(path)]), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is installed as %.80q: %v", path, found[filepath.Base(path)], err)
		}
	}
	content, err := os.ReadFile(chart + "/files/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal(content, &want); err != nil {
		t.Fatal(err)
	}
	rules := all.of("PrometheusRule")[""]
	if !reflect.DeepEqual(rules["spec"], any(want)) || at[string](rules, "metadata", "labels", "release") != "prometheus" {
		t.Errorf("rules are installed as %.300s", text(t, rules))
	}
	if m := all.of("ServiceMonitor"); len(m) != 1 {
		t.Errorf("%d ServiceMonitors", len(m))
	}
	for _, o := range render(t) {
		if k := o.kind(); k == "PrometheusRule" || k == "ServiceMonitor" ||
			at[string](o, "metadata", "labels", "grafana_dashboard") != "" {
			t.Errorf("%s %s is installed unasked", k, o.name())
		}
	}
}
