// Package gateway is the one public service. Callers reach all other services through its REST API, mem0's API,
// MCP, the RPC contracts and streams. It authenticates callers by API key. It passes calls on to the services
// behind, and turns to Kafka.
package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	goredis "github.com/redis/go-redis/v9"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/services/gateway/quota"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/services/gateway/rpc"
	"github.com/mneme-memory/mneme/services/gateway/stream"
	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/directory"
	accepted "github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Config is the configuration of the gateway.
type Config struct {
	Bus         wiring.Bus
	Tenants     wiring.Tenants
	Redis       wiring.Redis
	Inside      wiring.Inside
	Limits      quota.Limits
	Webhooks    WebhookConfig
	UtilizerURL string `env:"MNEME_UTILIZER_URL" envDefault:"http://127.0.0.1:8403" desc:"base URL of the utilizer"`
	RerankerURL string `env:"MNEME_RERANKER_URL" envDefault:"http://127.0.0.1:8404" desc:"base URL of the reranker"`

	Origins []string `env:"MNEME_GATEWAY_ORIGINS" desc:"origins of web pages that may call the gateway from browsers, such as https://app.example.com, comma-separated; * for any; empty for none"`
}

// WebhookConfig is the configuration of webhooks.
type WebhookConfig struct {
	wiring.Webhooks
	Private bool `env:"MNEME_WEBHOOK_PRIVATE_ADDRESSES" envDefault:"false" desc:"whether webhooks may use addresses that are not public, and URLs without TLS; tenants can then reach every address that the gateway can reach"`
}

// Validate checks the rules that the types do not express.
func (c Config) Validate() error {
	return errors.Join(
		config.Require(c.UtilizerURL != "", "MNEME_UTILIZER_URL", c.UtilizerURL, "a URL such as http://127.0.0.1:8403"),
		config.Require(c.RerankerURL != "", "MNEME_RERANKER_URL", c.RerankerURL, "a URL such as http://127.0.0.1:8404"),
		config.Require(c.Inside.Secret != "", "MNEME_INTERNAL_SECRET", c.Inside.Secret,
			"the secret of the services behind the gateway"),
		config.Require(!slices.ContainsFunc(c.Origins, func(o string) bool { return !isOrigin(o) }), "MNEME_GATEWAY_ORIGINS",
			strings.Join(c.Origins, ","), "origins such as https://app.example.com, without path or spaces, or *"),
	)
}

const name = "gateway"

// Service is the gateway.
var Service = runner.Define(name, "serves the public APIs: REST, mem0's API, MCP, RPC and streams, with API keys",
	build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8400"), runner.Default(runner.MetricsAddrVariable, "127.0.0.1:0"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	b := &builder{cfg: cfg, tel: tel}
	var err error
	if b.tenants, b.bus, err = b.Open(ctx, name, cfg.Tenants, cfg.Bus, tel); err != nil {
		return nil, err
	}
	if err := b.open(); err != nil {
		return b.Abandon(ctx, err)
	}
	d, err := b.doors(ctx)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.App.Handler = withOrigins(cfg.Origins, d.withGuard(&guard.Guard{Auth: b.auth, Limits: b.limits, Log: tel.Log}, tel))
	return &b.App, nil
}

// builder makes the gateway.
type builder struct {
	wiring.Builder
	cfg Config
	tel *telemetry.Telemetry

	tenants    *tenant.Registry
	bus        *wiring.BusClient
	redis      goredis.UniversalClient
	directory  directory.Directory
	limits     *quota.Quota
	auth       *keys.Authenticator
	repeatable *idempotency.Requests
	mem0       *mem0state.Store
	verbatim   *items.Store
	webhooks   *webhook.Webhooks
	ingest     *ingest.Ingester
	services   backend.Services
}

// open connects the gateway to Redis, and makes the parts that store data there.
func (b *builder) open() (err error) {
	var free func() error
	if b.directory, free, err = b.cfg.Redis.OpenDirectory(b.tel); err != nil {
		return err
	}
	b.OnClose("directory", free)
	if b.redis, err = b.cfg.Redis.Open(b.tel); err != nil {
		return err
	}
	b.OnClose("redis", b.redis.Close)
	b.limits, err = quota.New(b.redis, b.cfg.Limits, quota.Options{Meter: b.tel.Meter.Meter(wiring.Scope), Log: b.tel.Log})
	if err != nil {
		return err
	}
	b.auth = keys.New(b.tenants, b.directory, time.Now, b.tel.Log)
	b.repeatable = &idempotency.Requests{Store: accepted.New(b.redis, accepted.Options{}), Log: b.tel.Log}
	b.ingest = &ingest.Ingester{Out: b.bus.Publisher, Now: time.Now, Quota: b.limits, Accepted: b.repeatable,
		Log: b.tel.Log}
	b.verbatim = items.New(b.redis, items.Options{Items: b.cfg.Limits.Items, Log: b.tel.Log})
	b.limits.Kept = b.verbatim.OfTenant
	b.mem0 = mem0state.New(b.redis, mem0state.Options{})
	b.Background(
		runner.Task{Name: "last use of keys", Run: b.auth.Run}, runner.Task{Name: "quotas", Run: b.limits.Run},
		runner.Task{Name: "verbatim items that have expired", Run: b.verbatim.Run},
	)
	if err := b.openWebhooks(); err != nil {
		return err
	}
	return b.reach()
}

// openWebhooks makes the webhooks.
func (b *builder) openWebhooks() (err error) {
	b.webhooks, err = webhook.New(webhooks.New(b.redis, webhooks.Options{}),
		webhook.Options{Private: b.cfg.Webhooks.Private, Meter: b.tel.Meter.Meter(wiring.Scope), Log: b.tel.Log})
	if err != nil {
		return err
	}
	consume, err := b.bus.Consume(contract.TopicMemoryChanges, b.cfg.Webhooks.Group, b.webhooks.Handle)
	if err != nil {
		return err
	}
	b.Background(consume, runner.Task{Name: "webhooks", Run: b.webhooks.Run})
	return nil
}

// reach makes the clients of the services behind.
func (b *builder) reach() error {
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(b.tel.Tracer),
		otelconnect.WithMeterProvider(b.tel.Meter),
		otelconnect.WithPropagator(b.tel.Propagator))
	if err != nil {
		return err
	}
	client, free := backend.Client()
	b.OnClose("clients of services", free)
	b.limits.Stored = b.stored
	b.services = backend.New(client, b.cfg.UtilizerURL, b.cfg.RerankerURL, b.cfg.Inside.Secret, traces,
		b.limits.Counting()).
		Noting(b.repeatable)
	return nil
}

// stored asks how many memories of a tenant are stored.
func (b *builder) stored(ctx context.Context, t tenant.Tenant) (int64, error) {
	ctx = access.NewContext(ctx, access.Principal{Tenant: t, Scopes: []access.Scope{access.Admin}})
	res, err := b.services.Memories.CountMemories(ctx, connect.NewRequest(&mnemev1.CountMemoriesRequest{}))
	if err != nil {
		return 0, err
	}
	return res.Msg.GetMemories(), nil
}

// doors makes the doors.
func (b *builder) doors(ctx context.Context) (doors, error) {
	letters, err := b.letters()
	if err != nil {
		return doors{}, err
	}
	changes, err := b.bus.Log(contract.TopicMemoryChanges)
	if err != nil {
		return doors{}, err
	}
	b.OnClose("memory changes", changes.Close)
	streams, err := stream.New(stream.Parts{
		Changes: changes, Auth: b.auth, Streams: b.limits.Streams, Secret: string(b.cfg.Inside.Secret),
		Write: rest.WriteProblem, Stopping: ctx.Done(), Log: b.tel.Log,
	})
	if err != nil {
		return doors{}, err
	}
	b.Background(runner.Task{Name: "streams", Run: streams.Run})
	api, err := rest.New(rest.Parts{
		Services: b.services, Ingest: b.ingest, Idempotency: b.repeatable,
		Keys:        &keys.Manager{Directory: b.directory, Now: time.Now},
		DeadLetters: letters, Usage: b.limits, Verbatim: b.verbatim, Webhooks: b.webhooks,
		Streams: streams, Now: time.Now, Log: b.tel.Log,
		OtherDoors: map[string]map[string][]access.Scope{"mem0": mem0.Scopes(), "mcp": mcp.Scopes(), "rpc": backend.Scopes()},
	})
	if err != nil {
		return doors{}, err
	}
	return doors{
		rest: api, rpc: rpc.New(b.services),
		mem0: mem0.New(mem0.Parts{
			Services: b.services, Ingest: b.ingest, State: b.mem0, Webhooks: b.webhooks, Now: time.Now,
			Log: b.tel.Log}),
		mcp: mcp.New(mcp.Parts{
			Services: b.services, Ingest: b.ingest, Now: time.Now, Log: b.tel.Log, Version: runner.Version(),
			Origins: b.cfg.Origins}),
	}, nil
}

// letters opens the dead letters.
func (b *builder) letters() (*deadletters.Letters, error) {
	topic, free, err := b.bus.OpenDeadLetters()
	if err != nil {
		return nil, err
	}
	b.OnClose("dead letters", free)
	return deadletters.New(deadletters.Parts{
		Log: topic.Log, Offsets: topic.Offsets, Join: topic.Join, Out: b.bus.Raw(), Instruments: b.bus.Instruments(),
	}), nil
}
