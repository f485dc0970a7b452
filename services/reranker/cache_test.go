package reranker_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// crowd calls for many tenants, the first of them with learned weights.
func crowd(t testing.TB, r *fixture, tenants, learned int) {
	t.Helper()
	for i := range tenants {
		id := fmt.Sprint("tenant-", i)
		if i < learned {
			taught(t, r, id)
		}
		if _, unavailable := r.server.Cache.Weights(t.Context(), id); unavailable {
			t.Fatal("the store did not answer")
		}
	}
}

// taught writes learned weights for a tenant, without waiting for a trace.
func taught(t testing.TB, r *fixture, id string) {
	t.Helper()
	if _, err := r.server.RollbackWeights(inTenant(t.Context(), id), connect.NewRequest(rollbackTo(0))); err != nil {
		t.Fatal(err)
	}
}

// countingStore counts how often weights are loaded.
type countingStore struct {
	weights.Store
	loads atomic.Int64
}

func (s *countingStore) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	s.loads.Add(1)
	return s.Store.Load(ctx, tenant, known)
}

func TestTheCacheIsBoundedWhateverTheNumberOfTenants(t *testing.T) {
	store := &countingStore{Store: newStore(t, &clock{})}
	r := start(t, func(p *reranker.Parts) { p.Store, p.Settings.Tenants, p.Settings.Refresh = store, 50, time.Hour })
	const tenants = 10_000 // far more than the cache may hold
	crowd(t, r, tenants, 500)
	store.loads.Store(0)
	crowd(t, r, tenants, 0)
	if held := tenants - store.loads.Load(); held < 1 || held > 50*16 {
		t.Errorf("%d tenants are held, want from 1 to %d", held, 50*16)
	}
}

// BenchmarkCacheOfManyTenants prints the memory use of the cache with the default limit and 100,000 tenants. 2,000 of
// them have learned maps of full rank.
func BenchmarkCacheOfManyTenants(b *testing.B) {
	for b.Loop() {
		r := start(b, func(p *reranker.Parts) {
			p.Settings.Tenants = 1000
			p.Prior.Weights.Aq = make([]float32, ranking.Rank*ranking.Rank)
			p.Prior.Weights.Am = make([]float32, ranking.Rank*ranking.Rank)
		})
		for i := range 2000 {
			taught(b, r, fmt.Sprint("tenant-", i))
		}
		before := heap()
		fresh, err := reranker.NewCache(r.parts.Store, r.parts.Prior, r.parts.Settings, time.Now, r.server.Log)
		if err != nil {
			b.Fatal(err)
		}
		r.server.Cache = fresh
		crowd(b, r, 100_000, 0)
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB-held")
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
