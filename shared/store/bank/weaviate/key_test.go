package weaviate_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// TestKeyGoesWithEveryRequest checks the requests at both interfaces.
func TestKeyGoesWithEveryRequest(t *testing.T) {
	const want = "Bearer the-key"
	var mu sync.Mutex
	seen := map[string]map[string]int{"rest": {}, "grpc": {}}
	note := func(method, key string) {
		mu.Lock()
		defer mu.Unlock()
		seen[method][key]++
	}
	cfg := newConfig()
	cfg.APIKey = "the-key"
	cfg.HTTP = proxy(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			note("rest", r.Header.Get("Authorization"))
			r.Header.Del("Authorization") // this server has no keys
			next.ServeHTTP(w, r)
		})
	})
	intercept := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		for _, key := range md.Get("authorization") {
			note("grpc", key)
		}
		return handle(ctx, req)
	}
	cfg.GRPC = serveGRPC(t, nil, grpc.UnaryInterceptor(intercept))

	openBank(t, cfg)
	mu.Lock()
	defer mu.Unlock()
	for method, keys := range seen {
		if len(keys) != 1 || keys[want] == 0 {
			t.Errorf("%s: got keys %v, want only the configured one", method, keys)
		}
	}
}
