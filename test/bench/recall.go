package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	// candidates and alpha are recall's own defaults.
	candidates = 20
	alpha      = 0.1
	// writeBatch is the number of memories written together.
	writeBatch = 200
	// flushed is longer than the server keeps fresh objects in memory, where queries are slow.
	flushed = 8 * time.Second
)

// recallOf measures recall through the RPC with the given number of memories of one user. The baseline is a bare
// hybrid query to Weaviate with the same words and vector, which also returns the texts.
func recallOf(memories int) measure {
	return func(ctx context.Context, b *bench) (row Row, err error) {
		scope := b.scope(fmt.Sprintf("recaller-%d", memories))
		bare, err := baseline.Open(b.Bank)
		if err != nil {
			return Row{}, err
		}
		defer func() { err = errors.Join(err, bare.Close()) }()
		p := b.scaled(plan{rounds: 5, each: 60, warm: 40})
		asked, err := b.fill(ctx, scope, memories, p.warm+p.rounds*p.each)
		if err != nil {
			return Row{}, err
		}
		row, err = latencies(ctx, p, b.profiled(fmt.Sprintf("recall-%d", memories),
			func(ctx context.Context, i int) (time.Duration, error) {
				return b.recall(ctx, scope, asked[i].Text)
			}), func(ctx context.Context, i int) (time.Duration, error) {
			took, found, err := bare.Search(ctx, scope, asked[i], candidates, alpha)
			if err == nil && found != candidates {
				err = fmt.Errorf("the bare query found %d, want %d", found, candidates)
			}
			return took, err
		})
		row.What, row.BaselineWhat = fmt.Sprintf("recall among %d memories", memories), "bare hybrid query with its texts"
		row.judge(atMost(1.5))
		return row, err
	}
}

// fill gives a user memories and returns the requested number of different queries.
func (b *bench) fill(ctx context.Context, scope memory.Scope, memories, queries int) ([]baseline.Query, error) {
	entries, questions := b.corpus.memories(scope, memories,
		time.Now().Add(-24*time.Hour).UTC().Truncate(time.Millisecond))
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
	return b.embed(ctx, questions, queries)
}

func (b *bench) embed(ctx context.Context, questions []string, n int) ([]baseline.Query, error) {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s (%s)", questions[i%len(questions)], b.corpus.name()) // never repeated
	}
	return baseline.Queries(ctx, b.embedder, texts)
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
