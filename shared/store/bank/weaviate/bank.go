// Package weaviate stores banks in Weaviate. All customers share the collections, with one tenant per customer, and
// every read has a user filter (query.go). Writes and the schema use REST. Reads and erasures use gRPC, which takes
// half the time of GraphQL.
//
// The server must run with USE_INVERTED_SEARCHABLE=false when the collections are created, unless its version has the
// fix of weaviate/weaviate#11780. Block-max search loses unflushed matches once a result is full, and with them half
// of the BM25 matches.
//
// Limits: one user may have at most 10,000 entries with the same RecordedAt. BM25's inverse document frequencies are
// per customer, not per user.
package weaviate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	client "github.com/weaviate/weaviate-go-client/v4/weaviate"
	clientfault "github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Bank implements bank.Bank. The caller closes it.
type Bank struct {
	collections collections
	dimension   int
	rest        *client.Client
	http        *http.Client
	conn        *grpc.ClientConn
	search      pb.WeaviateClient
	warnings    []string
	// replicated means that several nodes keep each object. The node that serves a search may lack some objects.
	replicated bool
}

var _ bank.Bank = (*Bank)(nil)

// Open connects to Weaviate, creates or migrates the schema, and checks that the bank has the given embedding model
// and dimension. Several replicas may open at once. A mismatch is a terminal error that wraps
// bank.ErrEmbeddingMismatch. A server that does not answer is a retryable error.
func Open(ctx context.Context, cfg Config, model string, dimension int) (*Bank, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b, err := connect(ctx, cfg, dimension)
	if err != nil {
		return nil, err
	}
	if err := b.prepare(ctx, model); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bank) prepare(ctx context.Context, model string) error {
	if err := b.reach(ctx); err != nil {
		return err
	}
	if err := b.migrate(ctx); err != nil {
		return err
	}
	return b.checkEmbedding(ctx, model)
}

// System names the store for spans.
func (b *Bank) System() string { return "weaviate" }

// Close closes the connections.
func (b *Bank) Close() error {
	b.http.CloseIdleConnections()
	return fault.During("close bank", b.conn.Close())
}

// reach checks whether both REST and gRPC answer. It ignores the server's readiness, because a server is not ready
// while another node is down.
func (b *Bank) reach(ctx context.Context) error {
	alive, err := b.rest.Misc().LiveChecker().Do(ctx)
	if err != nil {
		return failed(ctx, "reach weaviate", err)
	}
	if !alive {
		return errors.New("reach weaviate: it is not alive")
	}
	reply, err := grpc_health_v1.NewHealthClient(b.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return failed(ctx, "reach weaviate by gRPC", err)
	}
	if reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("reach weaviate by gRPC: it is %s", reply.GetStatus())
	}
	return nil
}

// failed wraps an error of the client. It wraps a cancelled or expired ctx directly. The client's errors do not
// unwrap to ctx's error, and callers must distinguish cancellation from failure.
func failed(ctx context.Context, what string, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%s: %w", what, cause)
	}
	var e *clientfault.WeaviateClientError
	if errors.As(err, &e) && (!e.IsUnexpectedStatusCode || e.StatusCode >= 500 ||
		e.StatusCode == http.StatusTooManyRequests) {
		return fmt.Errorf("%s: %w: %w", what, fault.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// refusedWith reports whether the server answered a REST request with that status.
func refusedWith(err error, status int) bool {
	var e *clientfault.WeaviateClientError
	return errors.As(err, &e) && e.IsUnexpectedStatusCode && e.StatusCode == status
}

// prefixPattern is the form of a collection name's prefix that Weaviate accepts.
var prefixPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// Config configures the access to Weaviate.
type Config struct {
	HTTP    string        `env:"MNEME_WEAVIATE_HTTP" envDefault:"127.0.0.1:8080" desc:"Weaviate's REST address, host:port"`
	GRPC    string        `env:"MNEME_WEAVIATE_GRPC" envDefault:"127.0.0.1:50051" desc:"Weaviate's gRPC address, host:port"`
	TLS     bool          `env:"MNEME_WEAVIATE_TLS" envDefault:"false" desc:"whether both addresses use TLS; certificates are verified"`
	APIKey  config.Secret `env:"MNEME_WEAVIATE_API_KEY" desc:"Weaviate API key; empty for anonymous access"`
	Prefix  string        `env:"MNEME_WEAVIATE_PREFIX" envDefault:"Mneme" desc:"prefix of the collections' names"`
	Timeout time.Duration `env:"MNEME_WEAVIATE_TIMEOUT" envDefault:"10s" desc:"longest wait for one request"`
	// Replicas is the number of nodes that keep each object. It cannot change after the collection is created.
	Replicas int `env:"MNEME_WEAVIATE_REPLICAS" envDefault:"0" desc:"replicas of each object of a new collection; use 3 if one node may fail; an existing collection keeps its number; 0 is the server's default"`
}

// Validate returns an error for the first invalid setting.
func (c Config) Validate() error {
	switch {
	case c.HTTP == "":
		return fault.Terminal("MNEME_WEAVIATE_HTTP", "is empty, want host:port")
	case c.GRPC == "":
		return fault.Terminal("MNEME_WEAVIATE_GRPC", "is empty, want host:port")
	case !prefixPattern.MatchString(c.Prefix):
		return fault.Terminal("MNEME_WEAVIATE_PREFIX", "is %q, want a capital letter and up to 63 letters and digits",
			c.Prefix)
	case c.Timeout <= 0:
		return fault.Terminal("MNEME_WEAVIATE_TIMEOUT", "is %s, want more than 0", c.Timeout)
	case c.Replicas < 0:
		return fault.Terminal("MNEME_WEAVIATE_REPLICAS", "is %d, want 0 or more", c.Replicas)
	}
	return nil
}

func (c Config) scheme() string {
	if c.TLS {
		return "https"
	}
	return "http"
}

// maxMessage is the largest gRPC reply taken, as large as the server sends: a page of 1,000
// entries may pass the usual 4 MiB.
const maxMessage = 100 << 20

// clients holds every client library's client for the life of the process. Its finalizer waits for ever for a
// goroutine that only a login starts, and no other finalizer of the process would run after it.
var clients sync.Map

// connect makes the clients. The gRPC connection is our own because the client library's neither
// verifies certificates nor can be closed. Headers carry the key because the library's auth config
// makes, and abandons, a second connection.
func connect(ctx context.Context, cfg Config, dimension int) (*Bank, error) {
	if dimension <= 0 {
		return nil, fault.Terminal("embedding.dimension", "is %d, want more than 0", dimension)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns
	web := &http.Client{Timeout: cfg.Timeout, Transport: transport}
	var headers map[string]string
	if cfg.APIKey != "" {
		headers = map[string]string{"authorization": "Bearer " + cfg.APIKey.Reveal()}
	}
	if err := answers(ctx, web, cfg, headers); err != nil {
		return nil, err
	}
	rest, err := client.NewClient(client.Config{
		Scheme: cfg.scheme(), Host: cfg.HTTP, ConnectionClient: web, Headers: headers,
	})
	if err != nil {
		return nil, fmt.Errorf("make weaviate client: %w", err)
	}
	clients.Store(rest, true)
	conn, err := dial(cfg, headers)
	if err != nil {
		return nil, err
	}
	return &Bank{
		collections: collections{prefix: cfg.Prefix, replicas: cfg.Replicas}, dimension: dimension,
		rest: rest, http: web, conn: conn, search: pb.NewWeaviateClient(conn),
	}, nil
}

// answers asks the server for a sign of life. The client library asks for its version when it is
// made and takes no ctx for that, so a silent server must be found out before.
func answers(ctx context.Context, web *http.Client, cfg Config, headers map[string]string) error {
	url := cfg.scheme() + "://" + cfg.HTTP + "/v1/.well-known/live"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fault.Terminal("MNEME_WEAVIATE_HTTP", "%w", err)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	reply, err := web.Do(req)
	if err != nil {
		web.CloseIdleConnections()
		return failed(ctx, "reach weaviate", err)
	}
	return reply.Body.Close()
}

func dial(cfg Config, headers map[string]string) (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if cfg.TLS {
		security = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	// A restarted server is found again within two seconds, or five if its old address does not answer. The default
	// waits up to two minutes.
	reconnect := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 2 * time.Second}
	// Without a least time, an attempt to connect would end after the delay, which a busy server exceeds.
	attempts := grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: connectTimeout}
	conn, err := grpc.NewClient(cfg.GRPC, grpc.WithTransportCredentials(security), grpc.WithConnectParams(attempts),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithUnaryInterceptor(callWith(headers, cfg.Timeout)))
	if err != nil {
		return nil, fmt.Errorf("make weaviate gRPC client: %w", err)
	}
	return conn, nil
}

// connectTimeout is the least time for an attempt to connect.
const connectTimeout = 5 * time.Second

// callWith gives each call its headers and its longest wait.
func callWith(headers map[string]string, timeout time.Duration) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		for k, v := range headers {
			ctx = metadata.AppendToOutgoingContext(ctx, k, v)
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}
}
