package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Clients are the RPC clients of a Mneme.
type Clients struct {
	mnemev1connect.UtilizerServiceClient
	mnemev1connect.MemoryServiceClient
	mnemev1connect.UserDataServiceClient
	mnemev1connect.RerankerServiceClient
	mnemev1connect.DiagnosisServiceClient
}

// NewClients makes the clients of a connection.
func NewClients(c standalone.Connection, tel *telemetry.Telemetry) (Clients, error) {
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer),
		otelconnect.WithMeterProvider(tel.Meter), otelconnect.WithPropagator(tel.Propagator))
	if err != nil {
		return Clients{}, fmt.Errorf("trace calls: %w", err)
	}
	// An erasure through the gateway also removes the gateway's own data of the user.
	o, over := connect.WithInterceptors(traces, bearer{config.Secret(c.APIKey)}), HTTPClient(c.Tenant)
	return Clients{
		mnemev1connect.NewUtilizerServiceClient(over, c.Utilizer, o),
		mnemev1connect.NewMemoryServiceClient(over, c.Utilizer, o),
		mnemev1connect.NewUserDataServiceClient(over, cmp.Or(c.Gateway, c.Utilizer), o),
		mnemev1connect.NewRerankerServiceClient(over, c.Reranker, o),
		mnemev1connect.NewDiagnosisServiceClient(over, c.Utilizer, o),
	}, nil
}

// HTTPClient returns a client that adds the command line's tenant to calls; empty adds none. A service then refuses a
// key of another tenant, so a wrong key cannot reach that tenant's users.
func HTTPClient(tenantID string) *http.Client { return &http.Client{Transport: named(tenantID)} }

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

// Session is a command's connection with its clients and telemetry.
type Session struct {
	standalone.Connection
	Clients
	Telemetry *telemetry.Telemetry
}

// Connect resolves the target and makes the clients. The caller must close the session.
func (c *Console) Connect(ctx context.Context) (*Session, error) {
	conn, err := c.Target.Resolve(c.Dir)
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, conn)
}

// Open makes the clients of a connection. The caller must close the session.
func (c *Console) Open(ctx context.Context, conn standalone.Connection) (*Session, error) {
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{
		Endpoint: cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), conn.Traces), SampleRatio: 1, LogLevel: "error",
		LogFormat: "text",
	}, c.Err)
	if err != nil {
		return nil, err
	}
	made, err := NewClients(conn, tel)
	if err != nil {
		return nil, err
	}
	return &Session{Connection: conn, Clients: made, Telemetry: tel}, nil
}

// Close exports the traces. An unreachable collector does not fail the command.
func (s *Session) Close(ctx context.Context) {
	_ = s.Telemetry.Shutdown(context.WithoutCancel(ctx))
	http.DefaultClient.CloseIdleConnections()
}

// IgnoreUnavailable drops an error that a retry may resolve.
func IgnoreUnavailable(ctx context.Context, err error) error {
	if ctx.Err() == nil && connect.CodeOf(err) == connect.CodeUnavailable {
		return nil
	}
	return err
}

// Poll calls ask until it is done, an error occurs, or ctx ends.
func Poll(ctx context.Context, every time.Duration, ask func() (done bool, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
