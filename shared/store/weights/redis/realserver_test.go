//go:build realservers

package redis_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/store/weights/redis"
	"github.com/mneme-memory/mneme/shared/store/weights/weightstest"
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
	weightstest.Run(t, func(t *testing.T, l weights.Limits) weightstest.Backend {
		s, _ := open(t, server.Addr(), redis.Options{Limits: l})
		return weightstest.Backend{Store: s}
	})
}
