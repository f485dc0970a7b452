package quota_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/services/gateway/quota"
)

// BenchmarkRequest measures the cost of the limits per request, with a Redis on a laptop.
func BenchmarkRequest(b *testing.B) {
	for name, start := range map[string]func(context.Context, process.Options) (*servers.Redis, error){
		"embedded": servers.StartEmbeddedRedis, "installed": servers.StartRedis,
	} {
		b.Run(name, func(b *testing.B) {
			server, err := start(b.Context(), process.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
			limits := quota.Limits{RequestsPerSecond: 100_000, TenantRequestsPerSecond: 100_000} // all are let through
			q, err := quota.New(client, limits, quota.Options{Timeout: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := q.Request(b.Context(), by("acme", "k")); err != nil {
					b.Fatal(err)
				}
			}
			_ = client.Close()
			if err := server.Stop(context.WithoutCancel(b.Context())); err != nil {
				b.Error(err)
			}
		})
	}
}
