//go:build realservers

package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/shared/store/checkpoint/checkpointtest"
)

func TestConformanceRealServer(t *testing.T) {
	server, err := servers.StartRedisServer(t.Context(), servers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop server: %v", err)
		}
	})
	checkpointtest.Run(t, func(t *testing.T, ttl time.Duration) checkpointtest.Backend {
		return checkpointtest.Backend{Store: open(t, server.Addr(), ttl)}
	})
}
