package evaluation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// Rehearsed is a question with all that could be shown for it.
type Rehearsed struct {
	Question Question
	// Example has a candidate for each unit of memory that holds; relevant are those that rest on a turn of evidence.
	Example ranking.Example
	// Covers has, for each candidate, the turns of evidence that it rests on, as places in the question's Evidence.
	Covers [][]int
}

// Rehearse forms a subject's memories in the process and asks its questions of them, without any service between. Questions without
// evidence are left out. Evidence that the filter drops stays in the question, but no candidate covers it. The pipeline's bank is not used.
func Rehearse(ctx context.Context, p Pipeline, table *wordvector.Table, s Subject) ([]Rehearsed, error) {
	store := bankinmem.New(p.Embedder.Dimension())
	p.Bank = store
	if _, err := p.Form(ctx, s); err != nil {
		return nil, err
	}
	index, err := remembered(ctx, store, s.Scope, table)
	if err != nil {
		return nil, err
	}
	var out []Rehearsed
	for _, q := range s.Questions {
		if !measured(q) {
			continue
		}
		vectors, err := p.Embedder.Embed(ctx, []string{q.Text})
		if err != nil {
			return nil, fmt.Errorf("embed question: %w", err)
		}
		now := q.AskedAt
		if now.IsZero() {
			now = s.Sessions[len(s.Sessions)-1].End()
		}
		out = append(out, rehearsed(index, q, vectors[0], now))
	}
	return out, nil
}

// remembered indexes all that a bank has of a user.
func remembered(ctx context.Context, b bank.Bank, scope memory.Scope, table *wordvector.Table) (*features.Index, error) {
	var memories []memory.Memory
	for m, err := range bank.EachMemory(ctx, b, scope, bank.ListOptions{Limit: bank.MaxLimit, WithVectors: true}) {
		if err != nil {
			return nil, err
		}
		memories = append(memories, m)
	}
	var turns []memory.Turn
	for t, err := range bank.EachTurn(ctx, b, scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
	}
	return features.New(table, memories, turns), nil
}

func rehearsed(x *features.Index, q Question, vector []float32, now time.Time) Rehearsed {
	q.Evidence = distinct(q.Evidence)
	out := Rehearsed{Question: q}
	asked := features.Query{Text: q.Text, Vector: vector, Now: now}
	for _, c := range x.Candidates(asked, make([]float32, len(features.Names())), x.Len()) {
		sources := slices.Clone(c.Memory.Sources)
		for _, m := range c.Siblings {
			sources = append(sources, m.Sources...)
		}
		var covers []int
		for i, id := range q.Evidence {
			if slices.Contains(sources, id) {
				covers = append(covers, i)
			}
		}
		e := &out.Example
		e.Features, e.Cosine = append(e.Features, c.Features), append(e.Cosine, c.Cosine)
		e.Relevant = append(e.Relevant, len(covers) > 0)
		out.Covers = append(out.Covers, covers)
	}
	return out
}

// RecallAt is the share of the evidence that the first candidates cover, for each number of them, in the order of the weights.
func (r Rehearsed) RecallAt(w ranking.Weights, ks ...int) ([]float64, error) {
	candidates := make([]ranking.Candidate, len(r.Covers))
	for i := range candidates {
		candidates[i] = ranking.Candidate{Features: r.Example.Features[i], Cosine: r.Example.Cosine[i]}
	}
	scores, err := w.Scores(nil, candidates)
	if err != nil {
		return nil, fmt.Errorf("score candidates: %w", err)
	}
	order := ranking.Top(candidates, scores, len(candidates))
	out := make([]float64, len(ks))
	for i, k := range ks {
		covered := map[int]bool{}
		for _, place := range order[:min(k, len(order))] {
			for _, turn := range r.Covers[place] {
				covered[turn] = true
			}
		}
		out[i] = share(len(covered), len(r.Question.Evidence))
	}
	return out, nil
}
