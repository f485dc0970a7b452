//go:build chart

// Package chart_test renders the Helm chart with every shipped set of values. It compares the result with the
// services' settings and with the services' connections.
package chart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/local/servers"
)

const chart = "../../charts/mneme"

// program is Helm; earlier is Helm's previous major version.
var program, earlier string

func TestMain(m *testing.M) {
	var err4, err3 error
	program, err4 = servers.Binary(context.Background(), os.Stderr, servers.NameHelm)
	earlier, err3 = servers.Binary(context.Background(), os.Stderr, servers.NameHelm3)
	if err := errors.Join(err4, err3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// helm runs Helm on the chart with files of values and returns its output. The error contains Helm's messages.
func helm(t *testing.T, command []string, values ...string) (string, error) {
	t.Helper()
	return run(t, program, command, values...)
}

func run(t *testing.T, program string, command []string, values ...string) (string, error) {
	t.Helper()
	args := append(slices.Clone(command), "--kube-version", "1.30.0") // the oldest supported version
	for _, v := range values {
		args = append(args, "--values", v)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "HELM_NO_PLUGINS=1")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s%s", err, out.String(), complaints.String())
	}
	return out.String(), nil
}

// valuesOf writes values to a file.
func valuesOf(t *testing.T, values map[string]any) string {
	t.Helper()
	content, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shipped returns the sets of values in the chart's folder, by name.
func shipped(t *testing.T) map[string][]string {
	t.Helper()
	found, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil || len(found) < 5 {
		t.Fatalf("%d sets of values below ci: %v", len(found), err)
	}
	sets := map[string][]string{"default": nil, "production": {chart + "/values-production.yaml"}}
	for _, path := range found {
		sets[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = []string{path}
	}
	return sets
}

// object is a Kubernetes object, read by paths.
type object map[string]any

// at returns the value at a path of keys, or the zero value if the path does not exist.
func at[T any](o map[string]any, path ...string) T {
	var here any = o
	for _, key := range path {
		m, _ := here.(map[string]any)
		here = m[key]
	}
	found, _ := here.(T)
	return found
}

func (o object) kind() string { return at[string](o, "kind") }
func (o object) name() string { return at[string](o, "metadata", "name") }
func (o object) component() string {
	return at[string](o, "metadata", "labels", "app.kubernetes.io/component")
}

// pod returns the pod template of an object, or nil.
func (o object) pod() map[string]any {
	switch o.kind() {
	case "Deployment", "Job":
		return at[map[string]any](o, "spec", "template", "spec")
	case "Pod":
		return at[map[string]any](o, "spec")
	}
	return nil
}

// maps returns the maps in a list.
func maps(list []any) []map[string]any {
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// text returns a part of an object as YAML.
func text(t *testing.T, part any) string {
	t.Helper()
	out, err := yaml.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

type objects []object

// render renders the chart.
func render(t *testing.T, values ...string) objects {
	t.Helper()
	return renderBy(t, program, values...)
}

func renderBy(t *testing.T, program string, values ...string) objects {
	t.Helper()
	out, err := run(t, program, []string{"template", "mneme", chart, "--namespace", "memory"}, values...)
	if err != nil {
		t.Fatal(err)
	}
	var found objects
	for dec := yaml.NewDecoder(strings.NewReader(out)); ; {
		var o map[string]any // with object, nested maps would be objects, too, which at cannot read
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if o != nil {
			found = append(found, o)
		}
	}
}

// of returns the objects of a kind, by component.
func (all objects) of(kind string) map[string]object {
	out := map[string]object{}
	for _, o := range all {
		if o.kind() == kind {
			out[o.component()] = o
		}
	}
	return out
}

// settings returns the variables of a component's container: values by name, and the names of variables that a
// reference fills.
func (all objects) settings(component string) (values map[string]string, elsewhere []string) {
	values = map[string]string{}
	for name, v := range at[map[string]any](all.of("ConfigMap")[component], "data") {
		values[name] = fmt.Sprint(v)
	}
	pods := all.of("Deployment")
	if component == "migrate" {
		pods = all.of("Job")
	}
	for _, c := range maps(at[[]any](pods[component].pod(), "containers")) {
		for _, e := range maps(at[[]any](c, "env")) {
			if value, ok := e["value"]; ok {
				values[fmt.Sprint(e["name"])] = fmt.Sprint(value)
			} else {
				elsewhere = append(elsewhere, fmt.Sprint(e["name"]))
			}
		}
	}
	return values, elsewhere
}
