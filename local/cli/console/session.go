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
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/command"
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
	o, over := connect.WithInterceptors(traces), keyed{HTTPClient(c.Tenant), config.Secret(c.APIKey)}
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

// keyed adds the API key to calls.
type keyed struct {
	connect.HTTPClient
	key config.Secret
}

// Do implements connect.HTTPClient.
func (k keyed) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+k.key.Reveal())
	return k.HTTPClient.Do(r)
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

// Gateway returns the connection of the gateway, and its client.
func (c *Console) Gateway() (standalone.Connection, *client.Client, error) {
	conn, err := c.Target.ResolveGateway(c.Dir)
	if err != nil {
		return conn, nil, err
	}
	gateway, err := client.New(conn.Gateway, conn.APIKey, HTTPClient(conn.Tenant))
	if err != nil {
		return conn, nil, command.Usage(err)
	}
	return conn, gateway, nil
}

// Show makes a call, and prints its answer: as JSON if that is asked for, else by show.
func Show[Q, A any, M interface {
	*A
	proto.Message
}](
	ctx context.Context, c *Console,
	call func(*Session, context.Context, *connect.Request[Q]) (*connect.Response[A], error), question *Q,
	show func(*Session, *A) error,
) error {
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	res, err := call(s, ctx, connect.NewRequest(question))
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, JSON(M(res.Msg)))
	}
	return show(s, res.Msg)
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
