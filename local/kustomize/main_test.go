//go:build chart

package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
)

const (
	repository = "../.."
	folder     = repository + "/deploy/k8s"
)

// TestKustomizeRendersWhatTheChartDoes compares all objects of the base and of each overlay with the chart's objects
// for the same values.
func TestKustomizeRendersWhatTheChartDoes(t *testing.T) {
	helm, err := servers.Binary(t.Context(), os.Stderr, servers.NameHelm)
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string][]string{"base": nil}
	for name, values := range overlays {
		sets["overlays/"+name] = []string{values}
	}
	for name, values := range sets {
		t.Run(name, func(t *testing.T) {
			want, err := render(t.Context(), helm, repository, values...)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), repository+"/.cache/tools/kustomize", "build",
				filepath.Join(folder, name)).Output()
			if err != nil {
				t.Fatalf("kustomize: %v", err)
			}
			got, err := parse(out)
			if err != nil || len(want) < 40 || len(got) != len(want) {
				t.Errorf("%d objects, want %d: %v", len(got), len(want), err)
			}
			rendered := byID(got)
			for _, o := range want {
				if o["kind"] == "Secret" {
					t.Errorf("%s is made up while it is rendered", id(o))
				}
				if !reflect.DeepEqual(ordered(rendered[id(o)]), ordered(o)) {
					t.Errorf("%s is another than the chart's", id(o))
				}
			}
		})
	}
}

// ordered sorts lists of named elements, because new elements come first in merged lists.
func ordered(part any) any {
	switch p := part.(type) {
	case object:
		for _, inner := range p {
			ordered(inner)
		}
	case []any:
		for _, inner := range p {
			ordered(inner)
		}
		slices.SortStableFunc(p, func(a, b any) int { return cmp.Compare(named(a), named(b)) })
	}
	return part
}

func named(element any) string {
	o, _ := element.(object)
	name, _ := o["name"].(string)
	return name
}

func TestDeployK8sIsUpToDate(t *testing.T) {
	made := t.TempDir()
	if err := write(t.Context(), repository, made); err != nil {
		t.Fatal(err)
	}
	want, _ := filepath.Glob(made + "/*/*.yaml")
	further, _ := filepath.Glob(made + "/*/*/*.yaml")
	want = append(want, further...)
	committed, _ := filepath.Glob(folder + "/base/*")
	further, _ = filepath.Glob(folder + "/overlays/*/*")
	if n := len(committed) + len(further); len(want) == 0 || n != len(want) {
		t.Errorf("%d files, want %d: run `make generate`", n, len(want))
	}
	for _, path := range want {
		name, err := filepath.Rel(made, path)
		if err != nil {
			t.Fatal(err)
		}
		a, errWant := os.ReadFile(path)
		b, errGot := os.ReadFile(filepath.Join(folder, name))
		if errWant != nil || errGot != nil || string(a) != string(b) {
			t.Errorf("%s is not of this chart: run `make generate` (%v, %v)", name, errWant, errGot)
		}
	}
}
