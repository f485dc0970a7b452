package utilizer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	weightsmaker "github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/weights"
	weightsinmem "github.com/mneme-memory/mneme/shared/store/weights/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// weightsStore is a store of weights with a switch for failures.
type weightsStore struct {
	weights.Store
	down  atomic.Bool
	loads atomic.Int64
	// hold blocks a load until it receives a value, if it is not nil.
	hold chan struct{}
}

func (s *weightsStore) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	s.loads.Add(1)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
		}
	}
	if s.down.Load() {
		return weights.Record{}, errors.New("away")
	}
	return s.Store.Load(ctx, tenant, known)
}

func newWeightsStore(t testing.TB) *weightsStore {
	t.Helper()
	s, err := weightsinmem.New(weights.Limits{Versions: 5, Traces: 5, TraceTTL: time.Hour}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &weightsStore{Store: s}
}

func newLearned(
	t testing.TB, s weights.Tenants, age time.Duration, reader *sdkmetric.ManualReader,
) *utilizer.LearnedWeights {
	t.Helper()
	prior, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")
	l, err := utilizer.NewLearnedWeights(s, prior.Weights, age, time.Now, meter, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run updates weights until the test ends.
func run(t testing.TB, l *utilizer.LearnedWeights) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// opposite stores weights for a tenant that are the negation of the shared prior's.
func opposite(t testing.TB, s weights.Store, tenantID string) {
	t.Helper()
	turned, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	turned.Weights = turned.Weights.Clone()
	for i, w := range turned.Weights.W {
		turned.Weights.W[i] = -w
	}
	rollback(t, s, tenantID, turned)
}

// rollback makes the reranker's prior the newest version of a tenant's weights.
func rollback(t testing.TB, s weights.Store, tenantID string, to ranking.Prior) {
	t.Helper()
	settings, err := config.Load[weightsmaker.Settings](nil)
	if err != nil {
		t.Fatal(err)
	}
	known, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: tenantID}})
	if err != nil {
		t.Fatal(err)
	}
	limits := weights.Limits{Versions: 5, Traces: 5, TraceTTL: time.Hour}
	parts := weightsmaker.Parts{Tenants: known, Store: s, Prior: to, Settings: settings, Limits: limits, Now: time.Now}
	server, _, err := weightsmaker.Assemble(parts, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx := tenant.NewContext(t.Context(), tenant.Tenant{ID: tenantID})
	_, err = server.RollbackWeights(ctx, connect.NewRequest(&mnemev1.RollbackWeightsRequest{}))
	if err = errors.Join(err, server.Recorder.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// only returns the single candidate of a recall for one memory.
func only(t testing.TB, r *utilizer.Recaller, tenantID string) string {
	t.Helper()
	got, err := r.Recall(t.Context(), tenant.Tenant{ID: tenantID}, utilizer.Request{
		User: ana.User, Query: "Where does Ana live?", Candidates: 1, Memories: 1, WordBudget: 100,
	})
	if err != nil || len(got.Retrieved) != 1 {
		t.Fatalf("retrieved %v, %v", got.Retrieved, err)
	}
	return got.Retrieved[0].Memory.Content
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass that %s", what)
		}
	}
}

// choices returns the number of selections by source of the weights.
func choices(t testing.TB, reader *sdkmetric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				v, _ := p.Attributes.Value(attribute.Key(telemetry.AttrOutcome))
				out[v.AsString()] += p.Value
			}
		}
	}
	return out
}

// A memory that the shared prior would not select becomes a candidate if the tenant's weights rank it first.
func TestCandidatesAreChosenByTheTenantsWeights(t *testing.T) {
	store, reader := newWeightsStore(t), sdkmetric.NewManualReader()
	opposite(t, store, "acme")
	r := newRecaller(t)
	byPrior := only(t, r, "acme")
	r.Learned = newLearned(t, store, time.Hour, reader)
	run(t, r.Learned)
	if got := only(t, r, "acme"); got != byPrior {
		t.Errorf("a first recall, which does not wait for weights, chose %q, want %q as by the prior", got, byPrior)
	}
	await(t, "the tenant's weights choose", func() bool { return only(t, r, "acme") != byPrior })
	if counted := choices(t, reader); counted["learned"] != 1 || counted["not_read"] < 1 || len(counted) != 2 {
		t.Errorf("counted %v", counted)
	}
	// Weights that the tenant learns later are read, too.
	back, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	r.Learned = newLearned(t, store, 30*time.Millisecond, sdkmetric.NewManualReader())
	run(t, r.Learned)
	await(t, "the tenant's weights choose again", func() bool { return only(t, r, "acme") != byPrior })
	rollback(t, store, "acme", back)
	await(t, "the newer weights choose", func() bool { return only(t, r, "acme") == byPrior })
}

func TestWeightsThatAreTooOldGiveWayToThePrior(t *testing.T) {
	store, reader := newWeightsStore(t), sdkmetric.NewManualReader()
	opposite(t, store, "acme")
	r := newRecaller(t)
	byPrior := only(t, r, "acme")
	r.Learned = newLearned(t, store, 300*time.Millisecond, reader)
	run(t, r.Learned)
	await(t, "the tenant's weights choose", func() bool { return only(t, r, "acme") != byPrior })
	store.down.Store(true)
	await(t, "the prior chooses", func() bool {
		return only(t, r, "acme") == byPrior && choices(t, reader)["outdated"] > 0
	})
	store.down.Store(false)
	await(t, "the tenant's weights choose again", func() bool { return only(t, r, "acme") != byPrior })
}

func TestNoRecallWaitsForWeights(t *testing.T) {
	store, reader := newWeightsStore(t), sdkmetric.NewManualReader()
	store.hold = make(chan struct{})
	opposite(t, store.Store, "acme")
	r := newRecaller(t)
	byPrior := only(t, r, "acme")
	r.Learned = newLearned(t, store, time.Hour, reader)
	run(t, r.Learned)
	for range 3 { // while the store fails
		if got := only(t, r, "acme"); got != byPrior {
			t.Errorf("chose %q, want %q", got, byPrior)
		}
	}
	await(t, "the store is asked", func() bool { return store.loads.Load() == 1 })
	close(store.hold)
	await(t, "the tenant's weights choose", func() bool { return only(t, r, "acme") != byPrior })
}

// Another tenant's weights select nothing, and neither do weights for other features.
func TestOtherWeightsDoNotChoose(t *testing.T) {
	store, reader := newWeightsStore(t), sdkmetric.NewManualReader()
	opposite(t, store, "globex")
	rollback(t, store, "acme", ranking.Prior{Names: []string{"one"},
		Weights: ranking.Weights{FeatureSet: "other/1", W: []float32{1}}})
	r := newRecaller(t)
	byPrior := only(t, r, "acme")
	r.Learned = newLearned(t, store, time.Hour, reader)
	run(t, r.Learned)
	await(t, "the store was asked", func() bool {
		if got := only(t, r, "acme"); got != byPrior {
			t.Fatalf("chose %q, want %q", got, byPrior)
		}
		return choices(t, reader)["prior"] > 0
	})
}

// brokenTenant is a store that cannot read one tenant's weights. It counts the reads of each tenant.
type brokenTenant struct {
	weights.Store
	broken string
	mu     sync.Mutex
	reads  map[string]int
}

func (s *brokenTenant) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	s.mu.Lock()
	s.reads[tenant]++
	s.mu.Unlock()
	if tenant == s.broken {
		return weights.Record{}, errors.New("cannot be read")
	}
	return s.Store.Load(ctx, tenant, known)
}

// A tenant with unreadable weights blocks no other tenant.
func TestATenantWhoseWeightsCannotBeReadStopsNoOther(t *testing.T) {
	store := &brokenTenant{Store: newWeightsStore(t), broken: "t7", reads: map[string]int{}}
	l := newLearned(t, store, 50*time.Millisecond, sdkmetric.NewManualReader())
	run(t, l)
	for i := range 20 {
		l.Of(t.Context(), fmt.Sprint("t", i))
	}
	const rounds = 10
	await(t, "the broken tenant is tried again and again", func() bool {
		store.mu.Lock()
		defer store.mu.Unlock()
		return store.reads["t7"] >= rounds
	})
	store.mu.Lock()
	defer store.mu.Unlock()
	for tenant, n := range store.reads {
		if n < rounds-2 {
			t.Errorf("the weights of %s were read %d times while those of t7 were tried %d times", tenant, n, store.reads["t7"])
		}
	}
}
