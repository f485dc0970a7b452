//go:build realservers

package records_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
)

func TestOnRedisServer(t *testing.T) {
	server, err := servers.StartRedisServer(t.Context(), servers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop server: %v", err)
		}
	}()
	kept(t, server.Addr())
}
