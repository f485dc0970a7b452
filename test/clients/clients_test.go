//go:build realclients

// Package clients_test runs unmodified, pinned clients of other projects against all of Mneme on this machine. They
// are mem0's clients of PyPI and npm, MCP clients, and the frameworks of integrations/. An API tester reads the
// OpenAPI description. They are installed below .cache/clients.
package clients_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/standalone"
)

// Time limits for the installation and the run of a client.
const (
	installWithin = 15 * time.Minute
	runWithin     = 5 * time.Minute
)

// client is a program of another project, or a driver for it.
type client struct {
	name string
	// folder holds the client's input and its pinned versions in requirements.txt or package-lock.json.
	folder  string
	command []string
}

// clients returns all clients. PYTHON stands for the interpreter of the folder's environment, and BIN for the folder
// of its programs.
func clients() []client {
	return []client{
		{"mem0 of PyPI", "test/clients/mem0", []string{"PYTHON", "client.py"}},
		{"mem0 of npm", "test/clients/mem0", []string{"node", "client.mjs"}},
		{"mcp of PyPI", "test/clients/mcp", []string{"PYTHON", "client.py"}},
		{"MCP inspector of npm", "test/clients/mcp", []string{"bash", "inspector.sh"}},
		{"Standard Webhooks of PyPI", "test/clients/webhooks", []string{"PYTHON", "receiver.py"}},
		{"LangGraph and OpenAI Agents", "integrations/python", []string{"bash", "run.sh", "PYTHON"}},
		{"Vercel AI SDK", "integrations/typescript", []string{"npm", "test"}},
		{"schemathesis", "test/clients/rest", []string{"bash", "run.sh", "BIN"}},
	}
}

func TestClientsOfOthers(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	stack := start(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			dir := install(t, root, c.folder)
			c.run(t, dir, "MNEME_URL="+stack.Gateway, "MNEME_API_KEY="+stack.APIKey)
		})
	}
}

// TestTheExamplesOfTheREADME runs the README's examples as they are: the Python example with mem0's client, and the
// shell example.
func TestTheExamplesOfTheREADME(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	stack := start(t)
	environ := []string{"MNEME_URL=" + stack.Gateway, "MNEME_API_KEY=" + stack.APIKey, "MEM0_TELEMETRY=False",
		"MEM0_DIR=" + t.TempDir()}
	python := filepath.Join(install(t, root, "test/clients/mem0"), "venv/bin/python")
	within(t, runWithin, root, environ, python, "-c", block(t, string(readme), "python")+"\nassert 'results' in found\n")
	out := within(t, runWithin, root, environ, "bash", "-ec", block(t, string(readme), "sh"))
	for _, want := range []string{`"status_url"`, `"profile"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the shell's example prints %s, want %s", out, want)
		}
	}
}

// block returns the first code block in a language.
func block(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("there is no example in %s", language)
	}
	return code
}

// start runs all of Mneme. The gateway has no rate limits and sends webhooks to programs on this machine.
func start(t *testing.T) standalone.Connection {
	t.Helper()
	stack, err := standalone.Start(t.Context(), standalone.Options{
		Dir: t.TempDir(), Progress: t.Output(), Environ: map[string]string{
			"MNEME_GATEWAY_REQUESTS_PER_SECOND": "0", "MNEME_WEBHOOK_PRIVATE_ADDRESSES": "true",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return stack.Connection
}

// install copies a folder below the cache and installs its dependencies there. The checkout stays unchanged. An
// existing installation stays.
func install(t *testing.T, root, folder string) string {
	t.Helper()
	versions := sha256.New()
	for _, name := range []string{"requirements.txt", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(root, folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		versions.Write(data)
	}
	dir := filepath.Join(root, ".cache", "clients",
		strings.ReplaceAll(folder, "/", "-")+"-"+hex.EncodeToString(versions.Sum(nil))[:12])
	within(t, installWithin, root, nil, "bash", "-c", `mkdir -p "$1" && cp -r "$2"/. "$1"`, "-", dir, folder)
	if has(t, dir, "requirements.txt") && !has(t, dir, "venv/complete") {
		within(t, installWithin, dir, nil, "bash", "-c",
			"python3 -m venv --clear venv && venv/bin/pip install -q --no-deps -r requirements.txt && touch venv/complete")
	}
	if has(t, dir, "package-lock.json") && !has(t, dir, "node_modules/complete") {
		within(t, installWithin, dir, nil, "bash", "-c",
			"npm ci --no-audit --no-fund --loglevel=error && touch node_modules/complete")
	}
	return dir
}

func has(t *testing.T, dir, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// run runs the client in its folder.
func (c client) run(t *testing.T, dir string, environ ...string) {
	t.Helper()
	command := slices.Clone(c.command)
	for i, word := range command {
		switch word {
		case "PYTHON":
			command[i] = filepath.Join(dir, "venv/bin/python")
		case "BIN":
			command[i] = filepath.Join(dir, "venv/bin")
		}
	}
	t.Log("\n" + within(t, runWithin, dir, environ, command[0], command[1:]...))
}

// within runs a program and returns its output. The program must succeed within the limit.
func within(t *testing.T, longest time.Duration, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // of this file
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
