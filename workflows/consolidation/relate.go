package consolidation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Bounds and weights of searches for what is near.
const (
	// relatedAlpha weighs vector against words when relating: alike.
	relatedAlpha = 0.5
	// maxPoolBytes bounds a batch's related entries, as JSON: they go through payloads with the rest of the batch.
	maxPoolBytes = 640 << 10
	// maxWindowBytes bounds the turns of working memory that a decision sees.
	maxWindowBytes = 64 << 10
	// relateParallel bounds the queries of one batch in flight.
	relateParallel = 8
)

// Relate finds the entries near to what the turns say, and what else is decided by. Store-bound.
func (a *Activities) Relate(ctx context.Context, in RelateInput) (Neighbourhood, error) {
	lookups := make([]formation.Lookup, len(in.Candidates))
	for i, c := range in.Candidates {
		lookups[i] = formation.Lookup{Text: c.Content, Vector: c.Vector, K: c.Neighbours}
	}
	n := Neighbourhood{Candidates: in.Candidates}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		n.Pool, n.Near, err = a.search(gctx, in.Batch.Scope, lookups)
		return err
	})
	if tenant.Strategy(in.Batch.Strategy).KeepsCore() {
		g.Go(func() (err error) {
			n.Core, err = a.Bank.Core(gctx, in.Batch.Scope)
			return err
		})
	}
	g.Go(func() (err error) {
		n.Window, err = a.recent(gctx, in.Batch.Scope)
		return err
	})
	if err := g.Wait(); err != nil {
		return Neighbourhood{}, classify(fmt.Errorf("relate: %w", err))
	}
	return n, fits("what is related", n)
}

// Search makes the searches that a former asked for. Store-bound.
func (a *Activities) Search(ctx context.Context, in SearchInput) (SearchResult, error) {
	entries, near, err := a.search(ctx, in.Scope, in.Lookups)
	if err != nil {
		return SearchResult{}, classify(fmt.Errorf("search: %w", err))
	}
	out := SearchResult{Pool: entries, Near: near}
	return out, fits("what is found", out)
}

// search makes several searches, some at a time, and pools what they find.
func (a *Activities) search(ctx context.Context, scope memory.Scope, lookups []formation.Lookup) ([]memory.Memory, [][]Neighbour, error) {
	found := make([][]bank.Scored, len(lookups))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(relateParallel)
	for i, l := range lookups {
		if l.K == formation.NoNeighbours {
			continue
		}
		k := min(l.K, formation.MaxNeighbours)
		if k <= 0 {
			k = formation.MaxNeighbours
		}
		g.Go(func() (err error) {
			q := bank.Query{Text: l.Text, Vector: l.Vector, K: k, Alpha: relatedAlpha, WithVectors: true}
			found[i], err = a.Bank.Search(gctx, scope, q)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	entries, near := related(lookups, found)
	return entries, near, nil
}

// recent returns the turns of working memory that have been consolidated, the newest of them that fit into a payload. What waits or
// was given up is left out: a turn that no model takes must not spoil the sessions after it.
func (a *Activities) recent(ctx context.Context, scope memory.Scope) ([]memory.Turn, error) {
	turns, err := a.Window.Recent(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("read window: %w", err)
	}
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	kept, err := a.Bank.Turns(ctx, scope, ids)
	if err != nil {
		return nil, fmt.Errorf("look up consolidated turns: %w", err)
	}
	turns = slices.DeleteFunc(turns, func(t memory.Turn) bool {
		return !slices.ContainsFunc(kept, func(k memory.Turn) bool { return k.ID == t.ID })
	})
	first, bytes := len(turns), 0
	for ; first > 0; first-- {
		bytes += len(turns[first-1].Text) + len(turns[first-1].Caption)
		if bytes > maxWindowBytes {
			break
		}
	}
	return turns[first:], nil
}

// related collects the entries found, the nearest of every search first, until there are maxPoolBytes of them.
func related(lookups []formation.Lookup, found [][]bank.Scored) ([]memory.Memory, [][]Neighbour) {
	near := make([][]Neighbour, len(lookups))
	p := newPool(maxPoolBytes)
	for rank := range formation.MaxNeighbours {
		for i, hits := range found {
			if rank >= len(hits) {
				continue
			}
			m := hits[rank].Memory
			similarity := memory.Cosine(lookups[i].Vector, m.Vector)
			m.Vector = nil
			if place, ok := p.add(m); ok {
				near[i] = append(near[i], Neighbour{Pool: place, Similarity: similarity})
			}
		}
	}
	return p.entries, near
}

// pool is entries, each once, of a bounded size.
type pool struct {
	entries []memory.Memory
	at      map[string]int
	room    int
}

func newPool(room int, entries ...memory.Memory) *pool {
	p := &pool{at: map[string]int{}, room: room}
	for _, m := range entries {
		p.add(m)
	}
	return p
}

// add returns the entry's place; ok is false where there is no room for it. See fits for the check.
//
//workflowcheck:ignore
func (p *pool) add(m memory.Memory) (place int, ok bool) {
	if place, ok = p.at[m.ID]; ok {
		return place, true
	}
	data, err := json.Marshal(m)
	if err != nil || len(data) > p.room {
		return 0, false
	}
	p.room -= len(data)
	place = len(p.entries)
	p.at[m.ID] = place
	p.entries = append(p.entries, m)
	return place, true
}
