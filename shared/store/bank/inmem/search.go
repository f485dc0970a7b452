package inmem

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// termsOf returns the terms of an entry with their counts.
func termsOf(m memory.Memory) text.TermCounts {
	return text.CountTerms(strings.Fields(bank.IndexText(m)))
}

// Search implements bank.Bank. Both sides are scaled to 0..1 and added by weight (relative score fusion).
func (b *Bank) Search(ctx context.Context, scope memory.Scope, q bank.Query) ([]bank.Scored, error) {
	q, err := q.Checked(b.dimension)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, scope); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	u := b.users[scope]
	if u == nil {
		return nil, nil
	}
	ids := u.inStatus(q.Statuses)
	if !q.Filter.IsZero() {
		ids = slices.DeleteFunc(ids, func(id string) bool { return !q.Filter.Match(u.entries[id]) })
	}
	fused := map[string]float64{}
	textWeight, vectorWeight := 1-float64(q.Alpha), float64(q.Alpha)
	if q.Vector == nil {
		textWeight, vectorWeight = 1, 0
	}
	add(fused, u.bm25(ids, q.Text), textWeight)
	if vectorWeight > 0 {
		add(fused, u.cosines(ids, q.Vector), vectorWeight)
	}
	order := slices.Collect(maps.Keys(fused))
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(fused[b], fused[a]), cmp.Compare(a, b)) })
	found := make([]bank.Scored, min(q.K, len(order)))
	for i := range found {
		found[i] = bank.Scored{Memory: clone(u.entries[order[i]]), Score: fused[order[i]]}
		if !q.WithVectors {
			found[i].Memory.Vector = nil
		}
	}
	return found, nil
}

func (u *user) inStatus(statuses []memory.Status) []string {
	ids := make([]string, 0, len(u.entries))
	for id, m := range u.entries {
		if len(statuses) == 0 || slices.Contains(statuses, m.Status) {
			ids = append(ids, id)
		}
	}
	return ids
}

// add scales scores to 0..1 and adds them to fused.
func add(fused, scores map[string]float64, weight float64) {
	if weight == 0 {
		return
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range scores {
		low, high = min(low, s), max(high, s)
	}
	for id, s := range scores {
		scaled := 1.0
		if high > low {
			scaled = (s - low) / (high - low)
		}
		fused[id] += weight * scaled
	}
}

func (u *user) cosines(ids []string, v memory.Vector) map[string]float64 {
	scores := make(map[string]float64, len(ids))
	for _, id := range ids {
		scores[id] = memory.Cosine(u.entries[id].Vector, v)
	}
	return scores
}

// bm25 scores the entries with a term of the query.
func (u *user) bm25(ids []string, query string) map[string]float64 {
	documents := make([]text.TermCounts, len(ids))
	for i, id := range ids {
		documents[i] = u.terms[id]
	}
	scores := map[string]float64{}
	for i, score := range bank.BM25.Scores(strings.Fields(bank.QueryText(query)), documents) {
		if score > 0 {
			scores[ids[i]] = score
		}
	}
	return scores
}
