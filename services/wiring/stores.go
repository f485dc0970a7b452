package wiring

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowredis "github.com/mneme-memory/mneme/shared/store/window/redis"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Scope is the instrumentation scope of spans around the stores.
const Scope = "github.com/mneme-memory/mneme/services"

// OpenBank connects to the bank.
func OpenBank(
	ctx context.Context, cfg weaviate.Config, e embedding.Embedder, tel *telemetry.Telemetry,
) (bank.Bank, func() error, error) {
	b, err := weaviate.Open(ctx, cfg, e.Model(), e.Dimension())
	if err != nil {
		return nil, nil, runner.Need("weaviate", err)
	}
	for _, w := range b.Warnings() {
		tel.Log.WarnContext(ctx, w)
	}
	return bank.Traced(b, tel.Tracer.Tracer(Scope)), b.Close, nil
}

// Window configures the address and the size of working memory.
type Window struct {
	Redis
	// Prefix is the common prefix of the keys.
	Prefix string        `envDefault:"mneme:window:"`
	Words  int           `env:"MNEME_WINDOW_WORDS" envDefault:"600" desc:"words of salient turns in a user's window; statements of the moment have a separate budget of the same size"`
	Age    time.Duration `env:"MNEME_WINDOW_AGE" envDefault:"72h" desc:"largest age of a turn in the window, relative to the user's newest turn"`
	Idle   time.Duration `env:"MNEME_WINDOW_IDLE" envDefault:"720h" desc:"time without a write after which a user's window is deleted"`
}

// Validate checks the limits that the types do not express.
func (w Window) Validate() error {
	return errors.Join(
		config.Require(w.Words > 0, "MNEME_WINDOW_WORDS", w.Words, "more than zero"),
		config.Require(w.Age >= time.Millisecond, "MNEME_WINDOW_AGE", w.Age, "at least 1ms"),
		config.Require(w.Idle >= time.Millisecond, "MNEME_WINDOW_IDLE", w.Idle, "at least 1ms"),
	)
}

// Open creates the window. It does not wait for Redis: a service starts without the window.
func (w Window) Open(tel *telemetry.Telemetry) (window.Window, func() error, error) {
	opened, free, err := openOver(w.Redis, tel, func(c goredis.UniversalClient) (*windowredis.Window, error) {
		limits := window.Limits{Words: w.Words, Age: w.Age, Idle: w.Idle}
		return windowredis.New(c, windowredis.Options{Limits: limits, Prefix: w.Prefix})
	})
	if err != nil {
		return nil, nil, err
	}
	return window.Traced(opened, tel.Tracer.Tracer(Scope)), free, nil
}

// Workflows configures the access to Temporal and the times of users' workflows. MaxTurns is also the maximum number
// of turns per consolidation of an open session. A session goes to the dead letters after a number of attempts with
// unusable model answers.
type Workflows struct {
	Addr      string        `env:"MNEME_TEMPORAL_ADDR" envDefault:"127.0.0.1:7233" desc:"address of the Temporal frontend, host:port"`
	Namespace string        `env:"MNEME_TEMPORAL_NAMESPACE" envDefault:"default" desc:"Temporal namespace"`
	TLS       bool          `env:"MNEME_TEMPORAL_TLS" envDefault:"false" desc:"whether Temporal uses TLS; certificates are verified"`
	Cert      string        `env:"MNEME_TEMPORAL_TLS_CERT" desc:"PEM file of the client certificate for Temporal; empty for no certificate"`
	Key       string        `env:"MNEME_TEMPORAL_TLS_KEY" desc:"PEM file of the certificate's key"`
	APIKey    config.Secret `env:"MNEME_TEMPORAL_API_KEY" desc:"Temporal API key; empty for none"`
	// MaxTurns is the number of waiting turns that start a consolidation.
	MaxTurns int `envDefault:"32"`
	// BatchTurns is the number of turns of an ended session consolidated together.
	BatchTurns int           `envDefault:"200"`
	Idle       time.Duration `env:"MNEME_CONSOLIDATION_IDLE" envDefault:"15m" desc:"how long an open session waits for its next turn"`
	Linger     time.Duration `env:"MNEME_CONSOLIDATION_LINGER" envDefault:"5s" desc:"how long a user's workflow stays open after its last work"`

	DeleteAfter time.Duration `env:"MNEME_TEMPORAL_DELETE_AFTER" envDefault:"40s" desc:"time between the close of a user's workflow run and its deletion in Temporal by an erasure; longer than Temporal's history.transferProcessorUpdateAckInterval with its jitter (30 s and 15 %), which delays earlier deletions"`

	MalformedAttempts int `env:"MNEME_CONSOLIDATION_MALFORMED_ATTEMPTS" envDefault:"3" desc:"unusable model answers about the same turns before they become dead letters"`
}

// Validate checks the limits that the types do not express.
func (w Workflows) Validate() error {
	return errors.Join(
		config.Require(w.Addr != "", "MNEME_TEMPORAL_ADDR", w.Addr, "host:port"),
		config.Require(w.Namespace != "", "MNEME_TEMPORAL_NAMESPACE", w.Namespace, "a namespace"),
		config.Require((w.Cert == "") == (w.Key == "") && (w.Cert == "" || w.TLS), "MNEME_TEMPORAL_TLS_CERT", w.Cert,
			"a file together with MNEME_TEMPORAL_TLS_KEY if MNEME_TEMPORAL_TLS is true, or neither"),
		config.Require(w.APIKey == "" || w.TLS, "MNEME_TEMPORAL_API_KEY", w.APIKey,
			"a key only if MNEME_TEMPORAL_TLS is true"),
		config.Require(w.Idle > 0, "MNEME_CONSOLIDATION_IDLE", w.Idle, "more than zero"),
		config.Require(w.Linger > 0, "MNEME_CONSOLIDATION_LINGER", w.Linger, "more than zero"),
		config.Require(w.DeleteAfter >= 0, "MNEME_TEMPORAL_DELETE_AFTER", w.DeleteAfter, "0 or more"),
		config.Require(w.MalformedAttempts > 0, "MNEME_CONSOLIDATION_MALFORMED_ATTEMPTS", w.MalformedAttempts,
			"more than zero"),
	)
}

// Open connects to Temporal.
func (w Workflows) Open(ctx context.Context, tel *telemetry.Telemetry) (client.Client, error) {
	o, err := w.options(tel)
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, consolidation.ClientOptions(o))
	return c, runner.Need("temporal", err)
}

// options returns the client options for Temporal.
func (w Workflows) options(tel *telemetry.Telemetry) (client.Options, error) {
	o := client.Options{HostPort: w.Addr, Namespace: w.Namespace, Logger: temporallog.NewStructuredLogger(tel.Log)}
	o.ConnectionOptions.TLS = verified(w.TLS)
	if w.Cert != "" {
		shown := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(w.Cert, w.Key)
			return &pair, err
		}
		if _, err := shown(nil); err != nil {
			return o, fault.Terminal("MNEME_TEMPORAL_TLS_CERT", "%w", err)
		}
		// read for each connection, because certificates are renewed while a service runs
		o.ConnectionOptions.TLS.GetClientCertificate = shown
	}
	if w.APIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(w.APIKey.Reveal())
	}
	return o, nil
}

// Starter signals workflows through a client of Open.
func (w Workflows) Starter(c client.Client) consolidation.Starter {
	return consolidation.NewStarter(c, consolidation.Tuning{
		MaxTurns: w.MaxTurns, BatchTurns: w.BatchTurns, Idle: w.Idle, Linger: w.Linger,
		MalformedAttempts: w.MalformedAttempts,
	})
}

// Inside configures the authentication between services.
type Inside struct {
	Secret config.Secret `env:"MNEME_INTERNAL_SECRET" desc:"shared secret of the gateway and the services behind it, 16 bytes or more, the same in all; empty for no secret, and the services then accept only the tenants' keys of the tenants file"`
	Keys   bool          `env:"MNEME_INTERNAL_KEYS" envDefault:"false" desc:"whether services behind the gateway also accept the tenants' keys of the tenants file, if a secret is set"`
}

// minSecret is the minimum length of a secret in bytes.
const minSecret = 16

// Validate checks the limits that the types do not express.
func (i Inside) Validate() error {
	return config.Require(i.Secret == "" || len(i.Secret) >= minSecret, "MNEME_INTERNAL_SECRET", i.Secret,
		"16 bytes or more")
}

// Require wraps the RPC handlers of a service. It refuses calls without a credential before it reads their bodies,
// and counts them by the returned code.
func (i Inside) Require(tenants *tenant.Registry, tel *telemetry.Telemetry, next http.Handler) (http.Handler, error) {
	refusals, err := telemetry.MetricRefused.Counter(tel.Meter.Meter(Scope))
	if err != nil {
		return nil, err
	}
	inside := rpcauth.Inside{Secret: i.Secret, Keys: i.Keys, Tenants: tenants}
	return rpcauth.Require(tenants, inside, next, func(ctx context.Context, code connect.Code) {
		refusals.Add(ctx, 1, metric.WithAttributes(telemetry.AttrOutcome.String(code.String())))
	}), nil
}
