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
	"errors"
	"fmt"
	"net/http"

	client "github.com/weaviate/weaviate-go-client/v4/weaviate"
	clientfault "github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mneme-memory/mneme/shared/fault"
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
