//go:build realservers

package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/test/servers"
)

// TestConformanceOnApacheKafka runs the suite on Apache Kafka. Its smallest session timeout is six seconds, so
// cases with dead members take that long.
func TestConformanceOnApacheKafka(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	server, err := servers.StartJavaKafka(ctx, servers.KafkaOptions{
		Options: process.Options{Dir: t.TempDir(), Log: t.Output()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	restart := func(t testing.TB, during func()) {
		if err := server.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		during()
		if err := server.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
	bustest.Run(t, transport(server.Addr(), 6*time.Second, restart))
}
