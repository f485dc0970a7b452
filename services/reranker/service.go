// Package reranker ranks candidate memories for a query, and learns online from their citations: retrospective
// reflection (RMM, section 6) with separate weights per tenant.
package reranker

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// maxMessage is the maximum size of a decompressed request in bytes.
const maxMessage = 4 << 20

const name = "reranker"

// compressFrom is the size in bytes from which answers are compressed. Compression of a usual answer takes longer
// than sending it.
const compressFrom = 32 << 10

// Service is the reranker.
var Service = runner.Define(name, "orders memories for a query", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8404"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	prior, err := cfg.Prior.Open()
	if err != nil {
		return nil, err
	}
	b := &wiring.Builder{}
	tenants, client, err := b.Open(ctx, name, cfg.Tenants, cfg.Bus, tel)
	if err != nil {
		return nil, err
	}
	store, free, err := cfg.Weights.Open(tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("weights", free)
	server, learner, err := Assemble(Parts{
		Tenants: tenants, Store: store, Prior: prior, Settings: cfg.Learn, Limits: cfg.Weights.Limits(), Now: time.Now,
	}, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.App.Close = append(b.App.Close, runner.Step{Name: "traces", Run: server.Recorder.Close})
	consume, err := client.Consume(contract.TopicFeedback, cfg.Group, learner.Handle)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer),
		otelconnect.WithMeterProvider(tel.Meter), otelconnect.WithPropagator(tel.Propagator), otelconnect.WithTrustRemote())
	if err != nil {
		return b.Abandon(ctx, err)
	}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(server,
		connect.WithInterceptors(traces), connect.WithCompressMinBytes(compressFrom), connect.WithReadMaxBytes(maxMessage)))
	if b.App.Handler, err = cfg.Inside.Require(tenants, tel, mux); err != nil {
		return b.Abandon(ctx, err)
	}
	b.Background(consume)
	return &b.App, nil
}

// Parts are the parts of server and learner.
type Parts struct {
	// Tenants is the registry of tenants with accepted feedback.
	Tenants *tenant.Registry
	// Store keeps weights and traces. The caller closes it.
	Store weights.Store
	// Prior is the initial weights of every tenant.
	Prior ranking.Prior
	// Settings configure ranking and learning.
	Settings Settings
	// Limits has the limits of the store.
	Limits weights.Limits
	// Now is the clock.
	Now func() time.Time
}

// Assemble creates the server and the learner over one store. The caller closes the server's recorder.
func Assemble(p Parts, tel *telemetry.Telemetry) (*Server, *Learner, error) {
	metrics, err1 := NewMetrics(tel.Meter.Meter(wiring.Scope))
	cache, err2 := NewCache(p.Store, p.Prior, p.Settings, p.Now, tel.Log)
	if err := errors.Join(err1, err2, p.Settings.ranking().Validate()); err != nil {
		return nil, nil, err
	}
	updater := NewUpdater(p.Store, cache, p.Limits.Versions)
	learner := &Learner{Tenants: p.Tenants, Updater: updater, Traces: p.Store, Settings: p.Settings, Limits: p.Limits,
		Metrics: metrics}
	server := &Server{
		Cache: cache, Recorder: NewRecorder(p.Store, p.Settings.TraceQueue, metrics, tel.Log), Updater: updater,
		Explore: p.Settings.Explore, ExploreLast: p.Settings.ExploreLast, Settings: p.Settings.ranking(), Metrics: metrics,
		Log: tel.Log,
	}
	return server, learner, nil
}
