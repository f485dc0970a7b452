package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Environment variables with the addresses of a remote Mneme.
const (
	envAddr     = "MNEME_UTILIZER_URL"
	envReranker = "MNEME_RERANKER_URL"
	envKey      = "MNEME_API_KEY"
	envBrokers  = "MNEME_KAFKA_BROKERS"
	envTenant   = "MNEME_TENANT"
)

// target is the Mneme that a command calls. Flags come first, then the environment, then the data folder of `mneme
// up`.
type target struct {
	addr, reranker, key, tenant string
	brokers                     []string
}

func (t *target) flags(f *pflag.FlagSet) {
	f.StringVar(&t.addr, "addr", "", "base URL of the utilizer (or "+envAddr+")")
	f.StringVar(&t.reranker, "reranker", "", "base URL of the reranker (or "+envReranker+")")
	f.StringVar(&t.key, "key", "", "API key; prefer "+envKey+", since other users of the machine can see flags")
	f.StringSliceVar(&t.brokers, "brokers", nil, "Kafka brokers, host:port (or "+envBrokers+")")
	f.StringVar(&t.tenant, "tenant", "", "tenant that events are published for (or "+envTenant+")")
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// resolve returns the connection of the Mneme to call.
func (t target) resolve(dir string) (standalone.Connection, error) {
	c := standalone.Connection{
		Utilizer: strings.TrimSuffix(first(t.addr, os.Getenv(envAddr)), "/"),
		Reranker: strings.TrimSuffix(first(t.reranker, os.Getenv(envReranker)), "/"),
		APIKey:   first(t.key, os.Getenv(envKey)),
		Tenant:   first(t.tenant, os.Getenv(envTenant)),
		Brokers:  t.brokers,
	}
	if list := os.Getenv(envBrokers); len(c.Brokers) == 0 && list != "" {
		c.Brokers = strings.Split(list, ",")
	}
	if c.Utilizer != "" {
		// The local folder's key is used for local addresses only.
		if c.APIKey == "" {
			return c, command.Usage(fmt.Errorf("--addr (or %s) needs --key (or %s)", envAddr, envKey))
		}
		return c, nil
	}
	local, err := standalone.LoadConnection(dir)
	if err != nil {
		return c, fmt.Errorf("no address: %w (looked for --addr with --key, %s with %s, and in the folder %q)", err, envAddr, envKey, dir)
	}
	if c.Tenant != "" && c.Tenant != local.Tenant {
		// The folder's key belongs to the folder's tenant, even if the environment contains it. A command for another
		// tenant must not change that tenant's users.
		if c.APIKey == "" || c.APIKey == local.APIKey {
			return c, command.Usage(fmt.Errorf("--tenant (or %s) is %q, but the local Mneme's key is of the tenant %q: give --key (or %s), too",
				envTenant, c.Tenant, local.Tenant, envKey))
		}
	}
	if c.APIKey != "" && c.APIKey != local.APIKey {
		local.Tenant = c.Tenant  // the command line does not know the key's tenant
		if local.Gateway != "" { // the gateway also accepts keys made at run time
			local.Utilizer, local.Reranker = local.Gateway, local.Gateway
		}
	}
	local.APIKey = first(c.APIKey, local.APIKey)
	if len(c.Brokers) > 0 {
		local.Brokers = c.Brokers
	}
	if c.Reranker != "" && c.APIKey != "" { // the local folder's key is used for local addresses only
		local.Reranker = c.Reranker
	}
	return local, nil
}

// clients are the RPC clients of a Mneme.
type clients struct {
	mnemev1connect.UtilizerServiceClient
	mnemev1connect.MemoryServiceClient
	mnemev1connect.UserDataServiceClient
	mnemev1connect.RerankerServiceClient
	mnemev1connect.DiagnosisServiceClient
}

func newClients(c standalone.Connection, tel *telemetry.Telemetry) (clients, error) {
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer),
		otelconnect.WithMeterProvider(tel.Meter), otelconnect.WithPropagator(tel.Propagator))
	if err != nil {
		return clients{}, fmt.Errorf("trace calls: %w", err)
	}
	// An erasure through the gateway also removes the gateway's own data of the user.
	o, over := connect.WithInterceptors(traces, bearer{config.Secret(c.APIKey)}), naming(c.Tenant)
	return clients{
		mnemev1connect.NewUtilizerServiceClient(over, c.Utilizer, o),
		mnemev1connect.NewMemoryServiceClient(over, c.Utilizer, o),
		mnemev1connect.NewUserDataServiceClient(over, first(c.Gateway, c.Utilizer), o),
		mnemev1connect.NewRerankerServiceClient(over, c.Reranker, o),
		mnemev1connect.NewDiagnosisServiceClient(over, c.Utilizer, o),
	}, nil
}

// naming returns a client that adds the command line's tenant to calls; empty adds none. A service then refuses a key
// of another tenant, so a wrong key cannot reach that tenant's users.
func naming(tenantID string) *http.Client { return &http.Client{Transport: named(tenantID)} }

type named string

// RoundTrip implements http.RoundTripper.
func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	if n != "" {
		r = r.Clone(r.Context())
		r.Header.Set(tenant.Header, string(n))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// bearer adds the API key to calls.
type bearer struct{ key config.Secret }

func (b bearer) header() string { return "Bearer " + b.key.Reveal() }

// WrapUnary implements connect.Interceptor.
func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		req.Header().Set("Authorization", b.header())
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("Authorization", b.header())
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor. It changes nothing, because a client has no handlers.
func (bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// session is a command's connection with its clients and telemetry.
type session struct {
	standalone.Connection
	clients
	tel *telemetry.Telemetry
}

// connect resolves the target and makes the clients. The caller must close the session.
func (c *cli) connect(ctx context.Context) (*session, error) {
	conn, err := c.target.resolve(c.dir)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, conn)
}

func (c *cli) open(ctx context.Context, conn standalone.Connection) (*session, error) {
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{
		Endpoint: first(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), conn.Traces), SampleRatio: 1, LogLevel: "error", LogFormat: "text",
	}, c.err)
	if err != nil {
		return nil, err
	}
	made, err := newClients(conn, tel)
	if err != nil {
		return nil, err
	}
	return &session{Connection: conn, clients: made, tel: tel}, nil
}

// close exports the traces. An unreachable collector does not fail the command.
func (s *session) close(ctx context.Context) {
	_ = s.tel.Shutdown(context.WithoutCancel(ctx))
	http.DefaultClient.CloseIdleConnections()
}
