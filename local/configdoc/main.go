// Command configdoc writes the configuration reference, docs/configuration.md, from the services' own settings.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() {
	if _, err := os.Stdout.WriteString(document()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// document is docs/configuration.md.
func document() string {
	services := standalone.AllServices()
	shared := config.Section{Title: "Every service", Text: "All services have these settings, with one meaning and default."}
	for _, row := range services[0].Settings() {
		if everywhere(row, services) {
			shared.Rows = append(shared.Rows, row)
		}
	}
	sections := []config.Section{shared}
	for _, s := range services {
		own := config.Section{Title: s.Name(), Text: s.Name() + " " + s.Summary() + "."}
		for _, row := range s.Settings() {
			if !slices.Contains(shared.Rows, row) {
				own.Rows = append(own.Rows, row)
			}
		}
		sections = append(sections, own)
	}
	return "# Configuration\n\n" +
		"Services are configured by environment variables. `SERVICE --help` lists them, `--print-config` shows what is in force\n" +
		"without secrets, `--check-config` checks and ends. This page is generated: `make generate`.\n\n" +
		config.Markdown(sections)
}

func everywhere(row config.Row, services []runner.Service) bool {
	for _, s := range services {
		if !slices.Contains(s.Settings(), row) {
			return false
		}
	}
	return true
}
