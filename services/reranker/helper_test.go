package reranker_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/store/weights/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that tests advance.
type clock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
}

var limits = weights.Limits{Versions: 5, Traces: 64, TraceTTL: time.Hour}

// prior ranks by the first of three features.
func prior() ranking.Prior {
	return ranking.Prior{
		Names:   []string{"words", "name", "date"},
		Weights: ranking.Weights{FeatureSet: "test/1", W: []float32{1, 0, 0}, FeatureScale: []float32{1, 1, 1}},
	}
}

// settings have a high learning rate, so that tests are short.
func settings() reranker.Settings {
	return reranker.Settings{
		Temperature: 0.5, Spread: ranking.DefaultSpread,
		LearningRate: 0.1, FeatureRate: 0.5, Baseline: 0.5, Batch: 4, Radius: 1, UserRate: 100_000, TenantRate: 100_000,
		Tenants: 100, Refresh: time.Second, LoadTimeout: time.Second, TraceQueue: 1024,
	}
}

// fixture is a reranker in a test, with its API.
type fixture struct {
	t       testing.TB
	parts   reranker.Parts
	clock   *clock
	client  mnemev1connect.RerankerServiceClient
	server  *reranker.Server
	learner *reranker.Learner
	metrics *sdkmetric.ManualReader
	log     *lines
	recalls int
}

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func keyOf(tenantID string) string { return "mneme_0123456789_" + tenantID }

func newStore(t testing.TB, c *clock) weights.Store {
	t.Helper()
	s, err := inmem.New(limits, c.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs a reranker. change may replace its parts.
func start(t testing.TB, change func(*reranker.Parts)) *fixture {
	t.Helper()
	tenants, err := tenant.Static(
		tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}, APIKeys: []string{tenant.HashKey(keyOf("acme"))}},
		tenant.Entry{Tenant: tenant.Tenant{ID: "globex"}, APIKeys: []string{tenant.HashKey(keyOf("globex"))}},
		tenant.Entry{Tenant: tenant.Tenant{ID: "quiet", Explore: tenant.ExplorationOff},
			APIKeys: []string{tenant.HashKey(keyOf("quiet"))}},
		tenant.Entry{Tenant: tenant.Tenant{ID: "curious", Explore: "1"}, APIKeys: []string{tenant.HashKey(keyOf("curious"))}},
	)
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{t: t, clock: &clock{}, metrics: sdkmetric.NewManualReader(), log: &lines{}}
	r.parts = reranker.Parts{Tenants: tenants, Prior: prior(), Settings: settings(), Limits: limits, Now: r.clock.Now}
	if change != nil {
		change(&r.parts)
	}
	if r.parts.Store == nil {
		r.parts.Store = newStore(t, r.clock)
	}
	tel, err := telemetry.New(t.Context(), "test", "", telemetry.Config{LogLevel: "info", LogFormat: "text"}, r.log)
	if err != nil {
		t.Fatal(err)
	}
	tel.Meter, tel.Log = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics)),
		slog.New(slog.NewTextHandler(r.log, nil))
	if r.server, r.learner, err = reranker.Assemble(r.parts, tel); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(r.server))
	srv := httptest.NewServer(rpcauth.Require(tenants, rpcauth.Inside{}, mux, nil))
	r.client = mnemev1connect.NewRerankerServiceClient(srv.Client(), srv.URL)
	t.Cleanup(func() {
		srv.Close()
		if err := r.server.Recorder.Close(context.Background()); err != nil {
			t.Errorf("close recorder: %v", err)
		}
		_ = tel.Shutdown(context.Background())
	})
	return r
}

func as[T any](tenantID string, msg *T) *connect.Request[T] {
	req := connect.NewRequest(msg)
	req.Header().Set("Authorization", "Bearer "+keyOf(tenantID))
	return req
}

// request has two candidates. The prior ranks them a, b; the second feature would rank them b, a.
func request(recallID string) *mnemev1.RerankRequest {
	return &mnemev1.RerankRequest{
		UserId: "ana", RecallId: recallID, FeatureSet: "test/1", Memories: 2,
		Candidates: []*mnemev1.RerankCandidate{
			{MemoryId: "a", Features: []float32{0.5, 0, 0}}, {MemoryId: "b", Features: []float32{0.4, 1, 0}},
		},
	}
}

func (r *fixture) rerank(tenantID string, req *mnemev1.RerankRequest) *mnemev1.RerankResponse {
	r.t.Helper()
	res, err := r.client.Rerank(r.t.Context(), as(tenantID, req))
	if err != nil {
		r.t.Fatalf("rerank: %v", err)
	}
	return res.Msg
}

// order returns the result of a recall without a trace.
func (r *fixture) order(tenantID string) (ids, version string) {
	r.t.Helper()
	r.recalls++
	res := r.rerank(tenantID, request(fmt.Sprint("look-", r.recalls)))
	for _, m := range res.GetRanked() {
		ids += m.GetMemoryId()
	}
	return ids, res.GetWeightsVersion()
}

// recall ranks, and waits until the trace is written.
func (r *fixture) recall(scope memory.Scope) (recallID string) {
	r.t.Helper()
	r.recalls++
	recallID = fmt.Sprint("recall-", r.recalls)
	req := request(recallID)
	req.UserId = scope.User
	r.rerank(scope.Tenant, req)
	r.await(func() bool {
		got, err := r.parts.Store.Traces(r.t.Context(), scope, []string{recallID})
		return err == nil && got[0] != nil
	})
	return recallID
}

func (r *fixture) await(ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			r.t.Fatal("it did not come to pass")
		}
	}
}

var (
	ana = memory.Scope{Tenant: "acme", User: "ana"}
	eva = memory.Scope{Tenant: "globex", User: "eva"}
)

// report delivers a citation report as the bus does.
func (r *fixture) report(scope memory.Scope, recallID string, cited []string, shown ...string) bus.Message {
	r.t.Helper()
	f := contract.Feedback{
		Envelope: contract.Envelope{EventID: recallID, Scope: scope}, RecallID: recallID, Shown: shown, Cited: cited,
		Source: contract.CitationCaller, Time: r.clock.Now(),
	}
	return r.record(f)
}

// record returns a report as a bus record.
func (r *fixture) record(f contract.Feedback) bus.Message {
	r.t.Helper()
	value, err := f.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	return bus.Message{Topic: contract.TopicFeedback, Key: f.Key(), Value: value}
}

func (r *fixture) handle(batch ...bus.Message) {
	r.t.Helper()
	if err := r.learner.Handle(r.t.Context(), batch); err != nil {
		r.t.Fatalf("handle: %v", err)
	}
}

// teach reports n recalls of a user that cite one memory, each in its own batch.
func (r *fixture) teach(scope memory.Scope, cited string, n int) {
	r.t.Helper()
	for range n {
		r.handle(r.report(scope, r.recall(scope), []string{cited}, "a", "b"))
	}
}

// counted returns a counter's value for an outcome.
func (r *fixture) counted(metric telemetry.Metric, outcome string) (n int64) {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.metrics.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != string(metric) {
				continue
			}
			for _, p := range sum.DataPoints {
				if v, _ := p.Attributes.Value(attribute.Key(telemetry.AttrOutcome)); v.AsString() == outcome {
					n += p.Value
				}
			}
		}
	}
	return n
}

func (r *fixture) wantCounted(metric telemetry.Metric, outcome string, want int64) {
	r.t.Helper()
	if got := r.counted(metric, outcome); got != want {
		r.t.Errorf("%s %q is %d, want %d", metric, outcome, got, want)
	}
}

func (r *fixture) list(tenantID string) *mnemev1.ListWeightsResponse {
	r.t.Helper()
	res, err := r.client.ListWeights(r.t.Context(), as(tenantID, &mnemev1.ListWeightsRequest{}))
	if err != nil {
		r.t.Fatalf("list: %v", err)
	}
	return res.Msg
}

func (r *fixture) rollback(tenantID string, to uint64) *mnemev1.WeightsVersion {
	r.t.Helper()
	res, err := r.client.RollbackWeights(r.t.Context(), as(tenantID, &mnemev1.RollbackWeightsRequest{Version: to}))
	if err != nil {
		r.t.Fatalf("roll back: %v", err)
	}
	return res.Msg.GetVersion()
}

func inTenant(ctx context.Context, id string) context.Context {
	return tenant.NewContext(ctx, tenant.Tenant{ID: id})
}
