// Package weaviate keeps banks in Weaviate: one tenant per customer in collections that all
// customers share, and a user filter that no read can go without (query.go). Writes and the schema
// go over REST, reads and erasures over gRPC, which takes half the time of GraphQL.
//
// The server must run with USE_INVERTED_SEARCHABLE=false when the collections are made, unless its version has the
// fix of weaviate/weaviate#11780: block-max search loses matches that are not yet flushed once a result is
// full, and with it half of what BM25 should find.
//
// Limits: entries of one user with the very same RecordedAt are at most 10,000, and BM25's
// inverse document frequencies are those of the customer, not of the user.
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

// Bank implements bank.Bank. Close it when done.
type Bank struct {
	collections collections
	dimension   int
	rest        *client.Client
	http        *http.Client
	conn        *grpc.ClientConn
	search      pb.WeaviateClient
	warnings    []string
	// replicated says that several nodes keep each object, of which the one that a search asks may lack some.
	replicated bool
}

var _ bank.Bank = (*Bank)(nil)

// Open connects to Weaviate, creates or migrates the schema, and checks that the bank was filled
// with the embedding model and dimension given. Several replicas may open at once. A mismatch is a
// terminal error that wraps bank.ErrEmbeddingMismatch; a server that does not answer is a
// retryable one.
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

// Close ends the connections.
func (b *Bank) Close() error {
	b.http.CloseIdleConnections()
	if err := b.conn.Close(); err != nil {
		return fmt.Errorf("close bank: %w", err)
	}
	return nil
}

// reach asks whether both REST and gRPC answer. Whether the server calls itself ready is not asked: it does not while another node is
// away.
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

// failed wraps an error of the client. A cancelled or expired ctx is wrapped itself, because
// the client's errors do not unwrap to it and callers tell cancellation from failure.
func failed(ctx context.Context, what string, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%s: %w", what, cause)
	}
	var e *clientfault.WeaviateClientError
	if errors.As(err, &e) && (!e.IsUnexpectedStatusCode || e.StatusCode >= 500 || e.StatusCode == http.StatusTooManyRequests) {
		return fmt.Errorf("%s: %w: %w", what, fault.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// refusedWith reports whether the server answered a REST request with that status.
func refusedWith(err error, status int) bool {
	var e *clientfault.WeaviateClientError
	return errors.As(err, &e) && e.IsUnexpectedStatusCode && e.StatusCode == status
}
