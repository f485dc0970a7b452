//go:build realservers

package redis_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
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
	conformance(t, server.Addr())
}
