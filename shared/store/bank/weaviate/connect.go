package weaviate

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	client "github.com/weaviate/weaviate-go-client/v4/weaviate"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/mneme-memory/mneme/shared/fault"
)

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
