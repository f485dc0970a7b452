package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/standalone"
)

func TestTheSettingsOfProductionExist(t *testing.T) {
	var known []string
	for _, s := range standalone.AllServices() {
		for _, row := range s.Settings() {
			known = append(known, row.Name)
		}
	}
	listed := map[string]bool{}
	for _, s := range production {
		if !slices.Contains(known, s.variable) {
			t.Errorf("no service has the setting %s", s.variable)
		}
		if listed[s.variable] {
			t.Errorf("%s is listed twice", s.variable)
		}
		listed[s.variable] = true
		if strings.Count(s.reason, ". ") > 0 || !strings.HasSuffix(s.reason, ".") {
			t.Errorf("the reason for %s is %q, want one sentence", s.variable, s.reason)
		}
	}
	if len(listed) != 10 {
		t.Errorf("%d settings, want 10", len(listed))
	}
}

func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	for path, want := range map[string]string{
		"docs/configuration.md": document(), "charts/mneme/files/settings.yaml": names(),
		"shared/platform/config/settings.txt": allNames(),
	} {
		written, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if string(written) != want {
			t.Errorf("%s is out of date, run `make generate`", path)
		}
	}
}
