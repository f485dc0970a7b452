package servers_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

// fakeGo puts a program with the name go before all others in PATH.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(servers.CacheEnv, t.TempDir())
}

// writeOutput is a shell command that writes to the path after -o.
func writeOutput(content string) string {
	return `while [ $# -gt 0 ]; do [ "$1" = -o ] && echo ` + content + ` > "$2"; shift; done`
}

// modules is a shell command that answers `go mod download` for Temporal's dependencies with changeable copies.
func modules(t *testing.T) string {
	t.Helper()
	server, workers := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(server, "common/archiver/provider/provider.go"), `package provider

import (
	"go.temporal.io/server/common/archiver/filestore"
	"go.temporal.io/server/common/archiver/gcloud"
	"go.temporal.io/server/common/archiver/s3store"
)

func f(scheme string) string {
		switch scheme {
		case filestore.URIScheme:
			return filestore.New()
		case gcloud.URIScheme:
			return gcloud.New()
		case s3store.URIScheme:
			return s3store.New()
		default:
			return ""
		}
}
`)
	for _, name := range []string{"aws_lambda.go", "gcp.go", "k8s.go", "registry.go"} {
		writeFile(t, filepath.Join(workers, "wci/workflow/compute_provider", name), "package computeprovider")
	}
	return `if [ "$1" = mod ]; then case "$4" in
		*/server) echo '{"Dir":"` + server + `"}';;
		*) echo '{"Dir":"` + workers + `"}';;
	esac; exit; fi
	`
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The build leaves out parts of Temporal that need minutes to compile and that no local run uses.
func TestBuildLeavesOutClouds(t *testing.T) {
	seen := t.TempDir()
	fakeGo(t, modules(t)+`if [ "$1" = build ]; then
for a in "$@"; do case "$a" in */go.mod) cp -r "$(dirname "$a")/." "`+seen+`";; esac; done; fi
`+writeOutput("binary"))
	if _, err := servers.Binary(servertest.Context(t), nil, servers.NameTemporal); err != nil {
		t.Fatal(err)
	}
	provider, err := os.ReadFile(filepath.Join(seen, "changed0/common/archiver/provider/provider.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"gcloud", "s3store"} {
		if strings.Contains(string(provider), gone) {
			t.Errorf("%s is left:\n%s", gone, provider)
		}
	}
	if !strings.Contains(string(provider), "filestore.New()\n\t\tdefault:") {
		t.Errorf("more than the clouds is gone:\n%s", provider)
	}
	files, err := filepath.Glob(filepath.Join(seen, "changed1/wci/workflow/compute_provider/*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "registry.go" {
		t.Errorf("the build has %v (%v), want registry.go alone", files, err)
	}
	modfile, err := os.ReadFile(filepath.Join(seen, "go.mod"))
	if err != nil || strings.Count(string(modfile), "replace go.temporal.io/") != 2 {
		t.Errorf("%v: no replacements in\n%s", err, modfile)
	}
}

func TestBuildSaysHowFarItIs(t *testing.T) {
	fakeGo(t, modules(t)+`case "$1" in
list) echo one/a; echo -; echo one/b; echo one/c;;
*) `+writeOutput("binary")+`; echo one/a; echo one/b;;
esac`)
	var progress bytes.Buffer
	if err := servers.Build(servertest.Context(t), &progress, servers.NameTemporal); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"building the temporal server, once", "3 packages to compile, usually takes",
		"done after"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, progress.String())
		}
	}
}

func TestBinaryIsBuiltOnceForAllWhoAsk(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	fakeGo(t, modules(t)+`[ "$1" = build ] && echo built >> "`+count+`"; `+writeOutput("binary"))
	ctx := servertest.Context(t)
	var paths [6]string
	var errs [6]error
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() { paths[i], errs[i] = servers.Binary(ctx, nil, servers.NameTemporal) })
	}
	all.Wait()
	for i := range paths {
		if errs[i] != nil || paths[i] != paths[0] {
			t.Errorf("caller %d got %q, %v", i, paths[i], errs[i])
		}
	}
	if built, err := os.ReadFile(count); err != nil || string(built) != "built\n" {
		t.Errorf("builds: %q (%v), want one", built, err)
	}
	if content, err := os.ReadFile(paths[0]); err != nil || string(content) != "binary\n" {
		t.Errorf("binary: %q (%v)", content, err)
	}
}

// The build edits code where a server lacks a setting. It fails if a version of the server has other text at that
// place.
func TestAnEditThatFindsNothingStopsTheBuild(t *testing.T) {
	module := t.TempDir()
	writeFile(t, filepath.Join(module, "adapters/handlers/grpc/server.go"), "package other")
	fakeGo(t, `echo '{"Dir":"`+module+`"}'`)
	_, err := servers.Binary(servertest.Context(t), nil, servers.NameWeaviate)
	if err == nil || !strings.Contains(err.Error(), "adapters/handlers/grpc/server.go") ||
		!strings.Contains(err.Error(), "pinned") {
		t.Errorf("got %v, want the file that is another", err)
	}
}

func TestBuildErrorQuotesTheCompilerButNoAddresses(t *testing.T) {
	fakeGo(t, modules(t)+`[ "$1" = list ] && exit; echo "reading https://modules.example.test/x.zip: 403 Forbidden" >&2; exit 1`)
	var progress bytes.Buffer
	err := servers.Build(servertest.Context(t), &progress, servers.NameTemporal)
	if err == nil {
		t.Fatal("a failed build passed")
	}
	if text := err.Error(); !strings.Contains(text, "403 Forbidden") || strings.Contains(text, "example.test") {
		t.Errorf("unhelpful or talkative: %s", text)
	}
	if text := progress.String(); !strings.Contains(text, "building the temporal server") {
		t.Errorf("progress: %q", text)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv(servers.CacheEnv), "servers", "*[^k]"))
	if err != nil || len(left) != 0 {
		t.Errorf("a failed build left %v (%v)", left, err)
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	fakeGo(t, `exec sleep 3600`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := servers.Build(ctx, nil, servers.NameTemporal); err == nil {
		t.Error("a build without a context to run in passed")
	}
}

func TestBinaryRefusals(t *testing.T) {
	t.Run("unknown name", func(t *testing.T) {
		if _, err := servers.Binary(servertest.Context(t), nil, "cassandra"); err == nil {
			t.Error("no error")
		}
	})
	t.Run("outside the repository", func(t *testing.T) {
		t.Chdir(t.TempDir())
		_, err := servers.Binary(servertest.Context(t), nil, servers.NameTemporal)
		if err == nil || !strings.Contains(err.Error(), "go.work") {
			t.Errorf("got %v, want a word about go.work", err)
		}
	})
}

func TestStartNeedsADirectory(t *testing.T) {
	if _, err := servers.StartRedis(servertest.Context(t), process.Options{}); err == nil {
		t.Error("a server without a directory started")
	}
}
