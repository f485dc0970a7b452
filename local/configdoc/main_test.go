package main

import (
	"os"
	"testing"
)

func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	for path, want := range map[string]string{
		"docs/configuration.md": document(), "charts/mneme/files/settings.yaml": names(), "shared/platform/config/settings.txt": allNames(),
	} {
		written, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if string(written) != want {
			t.Errorf("%s is not what the settings say: run `make generate`", path)
		}
	}
}
