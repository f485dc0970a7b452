// Command configdoc writes the configuration reference, docs/configuration.md, from the services' settings. With the
// argument chart it writes charts/mneme/files/settings.yaml, the names of each binary's settings. With the argument
// names it writes shared/platform/config/settings.txt, the names of the settings of all programs.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

func main() {
	out := document()
	switch {
	case slices.Equal(os.Args[1:], []string{"chart"}):
		out = names()
	case slices.Equal(os.Args[1:], []string{"names"}):
		out = allNames()
	}
	if _, err := os.Stdout.WriteString(out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// document returns the contents of docs/configuration.md.
func document() string {
	services := standalone.AllServices()
	shared := config.Section{Title: "Every service",
		Text: "All services have these settings, with one meaning and default."}
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
	return "# Configuration\n" +
		"\n" +
		"Environment variables configure the services. `SERVICE --help` lists them. `--print-config` prints the\n" +
		"values in force, without secrets. `--check-config` checks them and exits. Programs warn about\n" +
		"a variable `MNEME_...` that no setting uses. `make generate` writes this page.\n" +
		"\n" +
		first() + "\n" + config.Markdown(sections)
}

// first returns the section of the settings of production.
func first() string {
	out := &strings.Builder{}
	out.WriteString("## Set these first in production\n" +
		"\n" +
		"Begin with the addresses and credentials of Kafka, Redis, Temporal and Weaviate, and with TLS " +
		"([install](operations/install.md)).\n" +
		"Then set these variables, in this order.\n" +
		"\n" +
		"| | variable | reason |\n" +
		"|---|---|---|\n")
	for i, s := range production {
		fmt.Fprintf(out, "| %d | `%s` | %s |\n", i+1, s.variable, s.reason)
	}
	return out.String()
}

func everywhere(row config.Row, services []runner.Service) bool {
	for _, s := range services {
		if !slices.Contains(s.Settings(), row) {
			return false
		}
	}
	return true
}

// laboratory has the settings of the trainer, and of its client, in the laboratory. The laboratory is a module that no
// other package imports. A test of the trainer compares the list with its settings.
var laboratory = []string{"MNEME_TRAINER_KEY", "MNEME_TRAINER_URL"}

// allNames returns the contents of shared/platform/config/settings.txt.
func allNames() string {
	all := slices.Concat([]string{servers.CacheEnv}, console.Variables(), laboratory)
	rows := slices.Concat(config.Describe[wiring.Migration](), config.Describe[command.JudgeSettings]())
	for _, s := range standalone.AllServices() {
		rows = append(rows, s.Settings()...)
	}
	for _, row := range rows {
		all = append(all, row.Name)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n") + "\n"
}

// names returns the contents of charts/mneme/files/settings.yaml. The command line's settings are the settings of
// mneme migrate.
func names() string {
	out := &strings.Builder{}
	out.WriteString("# The settings of each binary, which the chart reads. make generate writes this file.\nbinaries:\n")
	list := func(binary string, rows []config.Row) {
		fmt.Fprintf(out, "  %s:\n", binary)
		for _, row := range rows {
			fmt.Fprintf(out, "    - %s\n", row.Name)
		}
	}
	for _, s := range standalone.AllServices() {
		list(s.Name(), s.Settings())
	}
	list("mneme", config.Describe[wiring.Migration]())
	return out.String()
}
