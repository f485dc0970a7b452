package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/weaviate/weaviate-go-client/v5/weaviate/filters"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	// candidates and alpha are recall's own defaults.
	candidates = 20
	alpha      = 0.5
	// writeBatch is how many memories are written together.
	writeBatch = 200
	// flushed is longer than the server keeps fresh objects in memory, where queries of them are slow.
	flushed = 8 * time.Second
)

// recallOf measures recall through the RPC with so many memories of one user, beside a bare hybrid query with its texts of
// Weaviate for the same words and vector that returns ids alone.
func recallOf(memories int) measure {
	return func(ctx context.Context, b *bench) (row Row, err error) {
		scope := b.scope(fmt.Sprintf("recaller-%d", memories))
		conn, err := grpc.NewClient(b.Bank.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return Row{}, err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		floor := bareSearch{client: pb.NewWeaviateClient(conn), collection: b.Bank.Prefix + "Memory", scope: scope}
		p := b.scaled(plan{rounds: 5, each: 60, warm: 40})
		cues, err := b.fill(ctx, scope, memories, p.warm+p.rounds*p.each)
		if err != nil {
			return Row{}, err
		}
		row, err = latencies(ctx, p, b.profiled(fmt.Sprintf("recall-%d", memories), func(ctx context.Context, i int) (time.Duration, error) {
			return b.recall(ctx, scope, cues[i].text)
		}), func(ctx context.Context, i int) (time.Duration, error) { return floor.search(ctx, cues[i]) })
		row.What, row.FloorWhat = fmt.Sprintf("recall among %d memories", memories), "bare hybrid query with its texts"
		row.judge(atMost(1.5))
		return row, err
	}
}

// cue is a query with what the bank makes of it.
type cue struct {
	text   string
	terms  string
	vector []float32
}

// fill gives a user memories and returns as many different queries as asked for.
func (b *bench) fill(ctx context.Context, scope memory.Scope, memories, queries int) ([]cue, error) {
	entries, questions := b.corpus.memories(scope, memories, time.Now().Add(-24*time.Hour).UTC().Truncate(time.Millisecond))
	texts := make([]string, len(entries))
	for i, m := range entries {
		texts[i] = m.Content
	}
	vectors, err := b.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Vector = vectors[i]
	}
	for batch := range slices.Chunk(entries, writeBatch) {
		if err := b.bank.Write(ctx, scope, memory.Write{Put: batch}); err != nil {
			return nil, err
		}
	}
	select {
	case <-time.After(flushed):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return b.cues(ctx, questions, queries)
}

func (b *bench) cues(ctx context.Context, questions []string, n int) ([]cue, error) {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s (%s)", questions[i%len(questions)], b.corpus.name()) // never the same twice
	}
	vectors, err := b.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]cue, n)
	for i := range out {
		out[i] = cue{texts[i], bank.QueryText(texts[i]), vectors[i]}
	}
	return out, nil
}

func (b *bench) recall(ctx context.Context, scope memory.Scope, query string) (time.Duration, error) {
	began := time.Now()
	res, err := b.utilizer.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: scope.User, Query: query}))
	took := time.Since(began)
	switch {
	case err != nil:
		return 0, err
	case len(res.Msg.GetDegraded()) > 0:
		return 0, fmt.Errorf("the recall is degraded: %v", res.Msg.GetDegraded())
	case len(res.Msg.GetCited()) == 0:
		return 0, errors.New("the recall found nothing")
	}
	return took, nil
}

// bareSearch asks Weaviate itself, by gRPC.
type bareSearch struct {
	client     pb.WeaviateClient
	collection string
	scope      memory.Scope
}

func (s bareSearch) search(ctx context.Context, c cue) (time.Duration, error) {
	user := sha256.Sum256([]byte(s.scope.User)) // as the bank keeps it
	text := func(property, value string) *filters.WhereBuilder {
		return filters.Where().WithPath([]string{property}).WithOperator(filters.Equal).WithValueText(value)
	}
	req := &pb.SearchRequest{
		Collection: s.collection, Tenant: s.scope.Tenant, Limit: candidates,
		// With the texts: a query that returns ids alone is no use to anybody, and takes about two thirds of the time.
		Properties: &pb.PropertiesRequest{NonRefProperties: []string{"entry"}}, Metadata: &pb.MetadataRequest{Uuid: true},
		//lint:ignore SA1019 deprecated, but this is what asks the server for the newest of its formats
		Uses_123Api: true, Uses_125Api: true, Uses_127Api: true,
		HybridSearch: &pb.Hybrid{
			Query: c.terms, Properties: []string{"terms"}, Alpha: alpha, FusionType: pb.Hybrid_FUSION_TYPE_RELATIVE_SCORE,
			Vectors: []*pb.Vectors{{VectorBytes: byteops.Fp32SliceToBytes(c.vector), Type: pb.Vectors_VECTOR_TYPE_SINGLE_FP32}},
		},
		Filters: filters.Where().WithOperator(filters.And).WithOperands([]*filters.WhereBuilder{
			text("user", hex.EncodeToString(user[:])), text("status", string(memory.StatusActive)),
		}).ToGRPC(),
	}
	began := time.Now()
	res, err := s.client.Search(ctx, req)
	took := time.Since(began)
	if err == nil && len(res.GetResults()) != candidates {
		err = fmt.Errorf("the bare query found %d, want %d", len(res.GetResults()), candidates)
	}
	return took, err
}
