//go:build realservers

package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/store/window/windowtest"
)

// startServer runs a redis-server for one test and returns its address.
func startServer(t testing.TB) string {
	t.Helper()
	server, err := servers.StartRedisServer(t.Context(), process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop server: %v", err)
		}
	})
	return server.Addr()
}

func TestConformanceRealServer(t *testing.T) {
	addr := startServer(t)
	windowtest.Run(t, func(t *testing.T, l window.Limits) windowtest.Backend {
		w, _ := open(t, addr, l)
		return windowtest.Backend{Window: w}
	})
}

func TestEveryKeyExpiresRealServer(t *testing.T) {
	w, client := open(t, startServer(t), limits)
	fill(t, w, memory.Scope{Tenant: "acme", User: "u1"})
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 4 {
		t.Fatalf("got keys %v, error %v; want 4 keys", keys, err)
	}
	for _, key := range keys {
		left, err := client.PTTL(t.Context(), key).Result()
		if err != nil || left <= 0 || left > time.Hour {
			t.Errorf("key %s: %v to live, error %v; want up to an hour", key, left, err)
		}
	}
}

func BenchmarkAppendRealServer(b *testing.B) {
	w, _ := open(b, startServer(b), limits)
	benchmarkAppend(b, w)
}
