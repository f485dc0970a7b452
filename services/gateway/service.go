// Package gateway is the one public service: callers reach all others through it, over the RPC contracts and MCP. It finds out who calls,
// by API key, and passes calls on to the services behind, and turns to Kafka.
package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/otelconnect"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/services/gateway/quota"
	"github.com/mneme-memory/mneme/services/gateway/rpc"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Config is what can be set.
type Config struct {
	Bus         wiring.Bus
	Tenants     wiring.Tenants
	Redis       wiring.Redis
	Inside      wiring.Inside
	Limits      quota.Limits
	UtilizerURL string `env:"MNEME_UTILIZER_URL" envDefault:"http://127.0.0.1:8403" desc:"base URL of the utilizer"`
	RerankerURL string `env:"MNEME_RERANKER_URL" envDefault:"http://127.0.0.1:8404" desc:"base URL of the reranker"`
}

// Validate checks what the types do not.
func (c Config) Validate() error {
	return errors.Join(
		config.Require(c.UtilizerURL != "", "MNEME_UTILIZER_URL", c.UtilizerURL, "a URL such as http://127.0.0.1:8403"),
		config.Require(c.RerankerURL != "", "MNEME_RERANKER_URL", c.RerankerURL, "a URL such as http://127.0.0.1:8404"),
		config.Require(c.Inside.Secret != "", "MNEME_INTERNAL_SECRET", c.Inside.Secret, "a secret that the services behind know, too"),
	)
}

// maxMessage bounds an RPC request once it is decompressed, in bytes.
const maxMessage = 4 << 20

const name = "gateway"

// Service is the gateway.
var Service = runner.Define(name, "is the public door: RPC and MCP, with API keys", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8400"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	b := &wiring.Builder{}
	tenants, bus, err := b.Open(ctx, name, cfg.Tenants, cfg.Bus, tel)
	if err != nil {
		return nil, err
	}
	dir, free, err := cfg.Redis.OpenDirectory(tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("directory", free)
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer), otelconnect.WithMeterProvider(tel.Meter),
		otelconnect.WithPropagator(tel.Propagator))
	if err != nil {
		return b.Abandon(ctx, err)
	}
	store, err := cfg.Redis.Open(tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("quotas", store.Close)
	limits, err := quota.New(store, cfg.Limits, quota.Options{Meter: tel.Meter.Meter(wiring.Scope), Log: tel.Log})
	if err != nil {
		return b.Abandon(ctx, err)
	}
	client, free := upstream.Client()
	b.OnClose("clients of services", free)
	auth := keys.New(tenants, dir, time.Now, tel.Log)
	b.App.Handler = routes(&door.Guard{Auth: auth, Limits: limits, Log: tel.Log}, mcp.Parts{
		Services: upstream.New(client, cfg.UtilizerURL, cfg.RerankerURL, cfg.Inside.Secret, traces, limits.Counting()),
		Ingest:   &upstream.Ingester{Out: bus.Publisher, Now: time.Now, Quota: limits}, Now: time.Now, Log: tel.Log, Version: runner.Version(),
	})
	b.Background(runner.Task{Name: "last use of keys", Run: auth.Run}, runner.Task{Name: "quotas", Run: limits.Run})
	return &b.App, nil
}

// routes are the doors, with the guard before each.
func routes(guard *door.Guard, p mcp.Parts) http.Handler {
	mux := http.NewServeMux()
	calls := guard.Wrap(rpc.WriteProblem, rpc.New(p.Services, maxMessage))
	for _, prefix := range rpc.Prefixes() {
		mux.Handle(prefix, calls)
	}
	mux.Handle("/mcp", guard.Wrap(mcp.WriteProblem, mcp.New(p)))
	return mux
}
