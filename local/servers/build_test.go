package servers_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
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

func TestBinaryIsBuiltOnceForAllWhoAsk(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	// The fifth argument is the path after -o.
	fakeGo(t, `echo built >> "`+count+`"; echo binary > "$5"`)
	ctx := testContext(t)
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
	for _, dir := range []string{"grpc", "rest/clusterapi/grpc"} {
		dir = filepath.Join(module, "adapters", "handlers", dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "server.go"), []byte("package other"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fakeGo(t, `echo '{"Dir":"`+module+`"}'`)
	_, err := servers.Binary(testContext(t), nil, servers.NameWeaviate)
	if err == nil || !strings.Contains(err.Error(), "adapters/handlers/grpc/server.go") || !strings.Contains(err.Error(), "pinned") {
		t.Errorf("got %v, want the file that is another", err)
	}
}

func TestBuildErrorQuotesTheCompilerButNoAddresses(t *testing.T) {
	fakeGo(t, `echo "reading https://modules.example.test/x.zip: 403 Forbidden" >&2; exit 1`)
	var progress bytes.Buffer
	err := servers.Build(testContext(t), &progress, servers.NameTemporal)
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
		if _, err := servers.Binary(testContext(t), nil, "cassandra"); err == nil {
			t.Error("no error")
		}
	})
	t.Run("outside the repository", func(t *testing.T) {
		t.Chdir(t.TempDir())
		_, err := servers.Binary(testContext(t), nil, servers.NameTemporal)
		if err == nil || !strings.Contains(err.Error(), "go.work") {
			t.Errorf("got %v, want a word about go.work", err)
		}
	})
}

func TestStartNeedsADirectory(t *testing.T) {
	if _, err := servers.StartRedis(testContext(t), servers.Options{}); err == nil {
		t.Error("a server without a directory started")
	}
}
