package inmem

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Search implements bank.Bank. Both sides are scaled to 0..1 and added by weight (relative
// score fusion).
func (b *Bank) Search(ctx context.Context, scope memory.Scope, q bank.Query) ([]bank.Scored, error) {
	q, err := q.Checked(b.dimension)
	if err != nil {
		return nil, err
	}
	entries, err := b.entries(ctx, scope, q.Statuses)
	if err != nil {
		return nil, err
	}
	fused := map[int]float64{}
	textWeight, vectorWeight := 1-float64(q.Alpha), float64(q.Alpha)
	if q.Vector == nil {
		textWeight, vectorWeight = 1, 0
	}
	add(fused, bm25(entries, q.Text), textWeight)
	if vectorWeight > 0 {
		add(fused, cosines(entries, q.Vector), vectorWeight)
	}
	found := make([]bank.Scored, 0, len(fused))
	for i, score := range fused {
		m := entries[i]
		if !q.WithVectors {
			m.Vector = nil
		}
		found = append(found, bank.Scored{Memory: m, Score: score})
	}
	slices.SortFunc(found, bank.ByScore)
	return found[:min(q.K, len(found))], nil
}

// add scales scores to 0..1 and adds them to fused.
func add(fused, scores map[int]float64, weight float64) {
	if weight == 0 {
		return
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range scores {
		low, high = min(low, s), max(high, s)
	}
	for i, s := range scores {
		scaled := 1.0
		if high > low {
			scaled = (s - low) / (high - low)
		}
		fused[i] += weight * scaled
	}
}

func cosines(entries []memory.Memory, v memory.Vector) map[int]float64 {
	scores := make(map[int]float64, len(entries))
	for i, m := range entries {
		scores[i] = memory.Cosine(m.Vector, v)
	}
	return scores
}

// bm25 scores the entries that hold a term of the query.
func bm25(entries []memory.Memory, query string) map[int]float64 {
	counts := make([]map[string]int, len(entries))
	holders := map[string]int{}
	total := 0
	for i, m := range entries {
		counts[i] = map[string]int{}
		for _, w := range strings.Fields(bank.IndexText(m)) {
			counts[i][w]++
			total++
		}
		for w := range counts[i] {
			holders[w]++
		}
	}
	scores := map[int]float64{}
	for _, w := range strings.Fields(bank.QueryText(query)) {
		idf := math.Log1p((float64(len(entries)-holders[w]) + 0.5) / (float64(holders[w]) + 0.5))
		for i := range entries {
			if tf := float64(counts[i][w]); tf > 0 {
				length := float64(sum(counts[i])) * float64(len(entries)) / float64(total)
				scores[i] += idf * tf * (bank.BM25K1 + 1) / (tf + bank.BM25K1*(1-bank.BM25B+bank.BM25B*length))
			}
		}
	}
	return scores
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
