package utilizer_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// embeddings counts embedded texts, and can corrupt the vectors.
type embeddings struct {
	embedding.Embedder
	calls, texts atomic.Int32
	corrupt      func([][]float32) [][]float32
}

func (e *embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.calls.Add(1)
	e.texts.Add(int32(len(texts))) //nolint:gosec // one
	vectors, err := e.Embedder.Embed(ctx, texts)
	if e.corrupt != nil {
		vectors = e.corrupt(vectors)
	}
	return vectors, err
}

func TestTheQueryIsEmbeddedOnce(t *testing.T) {
	r := newRecaller(t)
	e := &embeddings{Embedder: r.Embedder}
	r.Embedder = e
	for i, room := range []utilizer.IndexCacheOptions{roomy, {}} {
		r.Indexes = newIndexCache(t, r.Bank, room)
		for n := range 2 { // cold, then warm
			recalled(t, r, ana)
			if want := int32(2*i + n + 1); e.calls.Load() != want || e.texts.Load() != want { //nolint:gosec // a few
				t.Errorf("embedded %d times, %d texts, want %d", e.calls.Load(), e.texts.Load(), want)
			}
		}
	}
}

// corrupted returns a bank's memories with changed vectors.
type corrupted struct {
	bank.Bank
	with func(i int, v memory.Vector) memory.Vector
}

func (s corrupted) List(ctx context.Context, scope memory.Scope, o bank.ListOptions) (bank.Page, error) {
	page, err := s.Bank.List(ctx, scope, o)
	for i := range page.Memories {
		page.Memories[i].Vector = s.with(i, page.Memories[i].Vector)
	}
	return page, err
}

func (s corrupted) Search(ctx context.Context, scope memory.Scope, q bank.Query) ([]bank.Scored, error) {
	found, err := s.Bank.Search(ctx, scope, q)
	for i := range found {
		found[i].Memory.Vector = s.with(i, found[i].Memory.Vector)
	}
	return found, err
}

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

func TestStoredVectorsThatCannotBeComparedAreLeftOut(t *testing.T) {
	huge := make(memory.Vector, builtin.Dimension)
	for i := range huge {
		huge[i] = math.MaxFloat32
	}
	for name, bad := range map[string]memory.Vector{
		"none": nil, "of another model": {1, 0, 0}, "no number": append(make(memory.Vector, builtin.Dimension-1), nan),
		"endless": append(make(memory.Vector, builtin.Dimension-1), inf), "huge": huge,
	} {
		for where, room := range map[string]utilizer.IndexCacheOptions{"all": roomy, "searched": {}} {
			t.Run(fmt.Sprint(name, "/", where), func(t *testing.T) {
				r := newRecaller(t)
				ranker := listen(r)
				r.Bank = corrupted{r.Bank, func(i int, v memory.Vector) memory.Vector {
					if i == 0 {
						return bad
					}
					return v
				}}
				r.Indexes = newIndexCache(t, r.Bank, room)
				recalled(t, r, ana)
				checkNumbers(t, ranker, 1)
			})
		}
	}
}

// checkNumbers checks the request to the ranker: it has numbers, and a given number of candidates without a vector.
func checkNumbers(t *testing.T, ranker *listening, without int) {
	t.Helper()
	if len(ranker.asks) != 1 || len(ranker.asks[0].Candidates) != where.Candidates {
		t.Fatalf("asked %+v", ranker.asks)
	}
	for _, c := range ranker.asks[0].Candidates {
		for _, x := range append([]float32{c.Cosine, float32(c.Score)}, c.Features...) {
			if x-x != 0 {
				t.Errorf("%s has %v", c.ID, c)
			}
		}
		v, err := ranking.DecodeVector(c.Vector)
		if err != nil || len(v) != 0 && len(v) != ranking.Rank {
			t.Errorf("%s has a vector of %d numbers, %v", c.ID, len(v), err)
		}
		if len(v) == 0 {
			without--
		}
	}
	if without < 0 {
		t.Errorf("%d more than expected are without a vector", -without)
	}
}

func TestAQueryWithoutAVectorIsAskedByItsWords(t *testing.T) {
	for name, corrupt := range map[string]func([][]float32) [][]float32{
		"none":             func([][]float32) [][]float32 { return nil },
		"empty":            func([][]float32) [][]float32 { return [][]float32{{}} },
		"of another model": func([][]float32) [][]float32 { return [][]float32{{1, 0, 0}} },
		"no number":        func(v [][]float32) [][]float32 { v[0][7] = nan; return v },
		"endless":          func(v [][]float32) [][]float32 { v[0][7] = -inf; return v },
	} {
		for kind, room := range map[string]utilizer.IndexCacheOptions{"all": roomy, "searched": {}} {
			t.Run(fmt.Sprint(name, "/", kind), func(t *testing.T) {
				r := newRecaller(t)
				ranker := listen(r)
				r.Embedder, r.Indexes = &embeddings{Embedder: r.Embedder, corrupt: corrupt}, newIndexCache(t, r.Bank, room)
				got, err := r.Recall(t.Context(), acme, where)
				if err != nil || len(got.Degraded) != 1 || !strings.Contains(got.Degraded[0], "embedding") ||
					len(got.Profile.Cited) != 2 {
					t.Fatalf("got %+v, %v", got, err)
				}
				if ranker.asks[0].Query != nil {
					t.Errorf("asked with the vector %v", ranker.asks[0].Query)
				}
				if kind == "all" {
					checkNumbers(t, ranker, where.Candidates)
				}
			})
		}
	}
}
