// Package reranker orders candidate memories for a query and takes in the feedback of what was cited.
package reranker

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/backends"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/runner"
	"github.com/mneme-memory/mneme/shared/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

// Config is what can be set.
type Config struct {
	Bus     backends.Bus
	Tenants backends.Tenants
	Group   string `env:"MNEME_RERANKER_GROUP" envDefault:"mneme-reranker" desc:"consumer group of the reranker"`
}

// maxMessage bounds a request once it is decompressed.
const maxMessage = 4 << 20

const name = "reranker"

// compressFrom is the size in bytes from which answers are compressed. For a usual one that takes longer than to send it.
const compressFrom = 32 << 10

// Service is the reranker.
var Service = runner.Define(name, "orders memories for a query", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8404"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	b := &backends.Builder{}
	tenants, watch, err := cfg.Tenants.Open(tel)
	if err != nil {
		return nil, err
	}
	line, err := cfg.Bus.Open(ctx, name, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("bus", line.Close)
	counter, err := telemetry.MetricFeedback.Counter(tel.Meter.Meter(backends.Scope))
	if err != nil {
		return b.Abandon(ctx, err)
	}
	learner := &Learner{Tenants: tenants, Count: func(ctx context.Context, tenantID string, cited, shown int) {
		count := func(outcome string, n int) {
			counter.Add(ctx, int64(n), metric.WithAttributes(
				telemetry.AttrTenant.String(tenantID), telemetry.AttrOutcome.String(outcome)))
		}
		count("cited", cited)
		count("not cited", shown-cited)
	}}
	consume, err := line.Consume(contract.TopicFeedback, cfg.Group, learner.Handle)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer),
		otelconnect.WithMeterProvider(tel.Meter), otelconnect.WithPropagator(tel.Propagator), otelconnect.WithTrustRemote())
	if err != nil {
		return b.Abandon(ctx, err)
	}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(server{},
		connect.WithInterceptors(traces, rpcauth.New(tenants)), connect.WithCompressMinBytes(compressFrom), connect.WithReadMaxBytes(maxMessage)))
	b.App.Handler = mux
	b.Background(watch, consume)
	return &b.App, nil
}
