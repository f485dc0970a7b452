// Package redistest runs the suites of stores on every kind of Redis. The embedded one refuses commands that no store
// needs, and replays scripts after a restart. The build tag realservers adds a redis-server.
package redistest

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

type start func(context.Context, process.Options) (*servers.Redis, error)

// kinds are the servers by name.
var kinds = map[string]start{"embedded": servers.StartEmbeddedRedis}

// Each runs a suite on an empty server of each kind, with the server's address.
func Each(t *testing.T, suite func(t *testing.T, addr string)) {
	t.Helper()
	for name, start := range kinds {
		t.Run(name, func(t *testing.T) { suite(t, started(t, start).Addr()) })
	}
}

// Embedded starts an embedded server, which ends with the test.
func Embedded(t testing.TB) *servers.Redis {
	t.Helper()
	return started(t, servers.StartEmbeddedRedis)
}

func started(t testing.TB, start start) *servers.Redis {
	t.Helper()
	server, err := start(t.Context(), process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop server: %v", err)
		}
	})
	return server
}
