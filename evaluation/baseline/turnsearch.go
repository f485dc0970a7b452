// Package baseline holds the baselines for recall. The first kind searches the raw turns in this process and learns
// nothing. The second kind queries Weaviate for a user's memories directly, without Mneme's own code in between.
package baseline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/shared/text"
)

// Search ranks documents for a query, best first. It uses no memories of Mneme. It is safe for concurrent use.
type Search struct {
	documents []score.Shown
	// scores holds one score per document. A document that scores no more than above is left out.
	scores func(query string) []float64
	above  float64
}

// Find returns the documents that match the query, best first. Equal scores keep the documents' order.
func (s *Search) Find(query string) []score.Shown {
	scores := s.scores(query)
	var order []int
	for i, score := range scores {
		if score > s.above {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	out := make([]score.Shown, len(order))
	for i, at := range order {
		out[i] = s.documents[at]
	}
	return out
}

// Terms splits a text into terms for word search.
type Terms func(text string) []string

// PlainTerms returns the words of a text in lower case, without stemming or filtering.
func PlainTerms(said string) []string {
	words := text.Words(said)
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Lower
	}
	return out
}

// Words is BM25 with the bank's parameters. It finds the documents that share a word with the query.
func Words(documents []score.Shown, terms Terms) *Search {
	counted := make([]text.TermCounts, len(documents))
	for i, d := range documents {
		counted[i] = text.CountTerms(terms(d.Text))
	}
	return &Search{documents: documents, scores: func(query string) []float64 {
		asked := terms(query)
		slices.Sort(asked)
		return bank.BM25.Scores(slices.Compact(asked), counted)
	}}
}

// Query is a query text with its word-search terms and its vector.
type Query struct {
	// Text is the query text.
	Text string
	// Terms are the input of BM25. Vector is the input of the cosine comparison.
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

// Client is a connection to the bank's Weaviate server.
type Client struct {
	conn       *grpc.ClientConn
	search     pb.WeaviateClient
	collection string
	key        string
}

// Open connects to the server of a bank. It sends no request yet.
func Open(cfg weaviate.Config) (*Client, error) {
	secured := insecure.NewCredentials()
	if cfg.TLS {
		secured = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(cfg.GRPC, grpc.WithTransportCredentials(secured))
	if err != nil {
		return nil, fmt.Errorf("reach weaviate: %w", err)
	}
	return &Client{conn: conn, search: pb.NewWeaviateClient(conn), collection: cfg.Prefix + "Memory",
		key: cfg.APIKey.Reveal()}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Search requests a user's k best active memories with their texts. It returns the server's time and the number of
// results. The texts are part of the request because ids alone serve no reader. A query for ids alone takes about two
// thirds of the time.
func (c *Client) Search(
	ctx context.Context, scope memory.Scope, q Query, k int, alpha float32,
) (took time.Duration, found int, err error) {
	user := sha256.Sum256([]byte(scope.User)) // the form in which the bank stores the user
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
	if q.Terms == "" { // the query has no words to match
		req.NearVector = &pb.NearVector{VectorBytes: vector}
	} else {
		req.HybridSearch = &pb.Hybrid{
			Query: q.Terms, Properties: []string{"terms"}, Alpha: alpha, FusionType: pb.Hybrid_FUSION_TYPE_RELATIVE_SCORE,
			VectorBytes: vector,
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
