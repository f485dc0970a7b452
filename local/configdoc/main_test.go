package main

import (
	"os"
	"testing"
)

func TestTheConfigurationIsUpToDate(t *testing.T) {
	written, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != document() {
		t.Error("docs/configuration.md is not what the settings say: run `make generate`")
	}
}
