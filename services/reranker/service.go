// Package reranker orders candidate memories for a query, and learns online from which of them were cited: retrospective
// reflection (RMM, section 6) with weights of every tenant's own.
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

// maxMessage bounds a request once it is decompressed.
const maxMessage = 4 << 20

const name = "reranker"

// compressFrom is the size in bytes from which answers are compressed. For a usual one that takes longer than to send it.
const compressFrom = 32 << 10

// Service is the reranker.
var Service = runner.Define(name, "orders memories for a query", build, runner.Default(runner.AddrVariable, "127.0.0.1:8404"))

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

// Parts are what server and learner are made of.
type Parts struct {
	// Tenants are those whose feedback is taken.
	Tenants *tenant.Registry
	// Store keeps weights and traces; it stays the caller's to close.
	Store weights.Store
	// Prior is what every tenant's weights start from.
	Prior ranking.Prior
	// Settings say how an order is found and learned.
	Settings Settings
	// Limits are those of the store.
	Limits weights.Limits
	// Now is the clock.
	Now func() time.Time
}

// Assemble makes the two sides of the reranker over one store. Close the server's recorder when done.
func Assemble(p Parts, tel *telemetry.Telemetry) (*Server, *Learner, error) {
	metrics, err1 := NewMetrics(tel.Meter.Meter(wiring.Scope))
	cache, err2 := NewCache(p.Store, p.Prior, p.Settings, p.Now, tel.Log)
	if err := errors.Join(err1, err2, p.Settings.ranking().Validate()); err != nil {
		return nil, nil, err
	}
	updater := NewUpdater(p.Store, cache, p.Limits.Versions)
	learner := &Learner{Tenants: p.Tenants, Updater: updater, Traces: p.Store, Settings: p.Settings, Limits: p.Limits, Metrics: metrics}
	server := &Server{
		Cache: cache, Recorder: NewRecorder(p.Store, p.Settings.TraceQueue, metrics, tel.Log), Updater: updater,
		Explore: p.Settings.Explore, ExploreLast: p.Settings.ExploreLast, Settings: p.Settings.ranking(), Metrics: metrics, Log: tel.Log,
	}
	return server, learner, nil
}
