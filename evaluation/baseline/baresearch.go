// Package baseline has what recall is measured against: searches of what was said that have learned nothing, in this process, and Weaviate
// asked for a user's memories with nothing of ours in between.
package baseline

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
)

// Query is a query with what the bank makes of it.
type Query struct {
	// Text is the query as it is asked.
	Text string
	// Terms are what BM25 looks for, Vector what cosine compares.
	Terms  string
	Vector []float32
}

// Queries embeds queries and analyses them as the bank does.
func Queries(ctx context.Context, e embedding.Embedder, texts []string) ([]Query, error) {
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed queries: %w", err)
	}
	out := make([]Query, len(texts))
	for i, text := range texts {
		out[i] = Query{Text: text, Terms: bank.QueryText(text), Vector: vectors[i]}
	}
	return out, nil
}

// Client is a connection to the bank's server.
type Client struct {
	conn       *grpc.ClientConn
	search     pb.WeaviateClient
	collection string
	key        string
}

// Open connects to where a bank is. Nothing is asked yet.
func Open(cfg weaviate.Config) (*Client, error) {
	secured := insecure.NewCredentials()
	if cfg.TLS {
		secured = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(cfg.GRPC, grpc.WithTransportCredentials(secured))
	if err != nil {
		return nil, fmt.Errorf("reach weaviate: %w", err)
	}
	return &Client{conn: conn, search: pb.NewWeaviateClient(conn), collection: cfg.Prefix + "Memory", key: cfg.APIKey.Reveal()}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Search asks for a user's k best active memories with their texts and returns how long the server took and how many came. With the
// texts, because a query that returns ids alone is no use to anybody, and takes about two thirds of the time.
func (c *Client) Search(ctx context.Context, scope memory.Scope, q Query, k int, alpha float32) (took time.Duration, found int, err error) {
	user := sha256.Sum256([]byte(scope.User)) // as the bank keeps it
	equal := func(property, value string) *pb.Filters {
		return &pb.Filters{
			Operator: pb.Filters_OPERATOR_EQUAL, TestValue: &pb.Filters_ValueText{ValueText: value},
			Target: &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}},
		}
	}
	vector := byteops.Float32ToByteVector(q.Vector)
	req := &pb.SearchRequest{
		Collection: c.collection, Tenant: scope.Tenant, Limit: uint32(k), //nolint:gosec // at most 200
		Properties: &pb.PropertiesRequest{NonRefProperties: []string{"entry"}}, Metadata: &pb.MetadataRequest{Uuid: true},
		//lint:ignore SA1019 deprecated, but this is what asks the server for the newest of its formats
		Uses_123Api: true, Uses_125Api: true, Uses_127Api: true,
		Filters: &pb.Filters{Operator: pb.Filters_OPERATOR_AND, Filters: []*pb.Filters{
			equal("user", hex.EncodeToString(user[:])), equal("status", string(memory.StatusActive)),
		}},
	}
	if q.Terms == "" { // nothing to match by words
		req.NearVector = &pb.NearVector{VectorBytes: vector}
	} else {
		req.HybridSearch = &pb.Hybrid{
			Query: q.Terms, Properties: []string{"terms"}, Alpha: alpha, FusionType: pb.Hybrid_FUSION_TYPE_RELATIVE_SCORE, VectorBytes: vector,
		}
	}
	if c.key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.key)
	}
	began := time.Now()
	res, err := c.search.Search(ctx, req)
	took = time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("bare query: %w", err)
	}
	return took, len(res.GetResults()), nil
}
