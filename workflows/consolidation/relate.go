package consolidation

import (
	"context"
	"fmt"
	"maps"
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
	// maxPoolBytes bounds the texts of a batch's related entries: they go through payloads of at most 2 MB. Entries
	// cost about entryBytes beside their text.
	maxPoolBytes, entryBytes = 512 << 10, 512
	// maxWindowBytes bounds the turns of working memory that a decision sees.
	maxWindowBytes = 64 << 10
	// relateParallel bounds the queries of one batch in flight.
	relateParallel = 8
)

// Relate leaves out what was consolidated before and finds the entries near to the rest.
// Store-bound.
func (a *Activities) Relate(ctx context.Context, in RelateInput) (Neighbourhood, error) {
	fresh, known, err := a.fresh(ctx, in)
	if err != nil {
		return Neighbourhood{}, classify(err)
	}
	lookups := make([]formation.Lookup, len(fresh))
	for i, c := range fresh {
		lookups[i] = formation.Lookup{Text: c.Content, Vector: c.Vector, K: c.Neighbours}
	}
	n := Neighbourhood{Candidates: fresh, Known: known}
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
	return n, nil
}

// Search makes the searches that a former asked for. Store-bound.
func (a *Activities) Search(ctx context.Context, in SearchInput) (SearchResult, error) {
	entries, near, err := a.search(ctx, in.Scope, in.Lookups)
	if err != nil {
		return SearchResult{}, classify(fmt.Errorf("look up: %w", err))
	}
	return SearchResult{Pool: entries, Near: near}, nil
}

// search looks several things up, some at a time, and pools what is found.
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
			found[i], err = a.Bank.Search(gctx, scope, bank.Query{Text: l.Text, Vector: l.Vector, K: k, Alpha: relatedAlpha, WithVectors: true})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	entries, near := pool(lookups, found)
	return entries, near, nil
}

// recent returns the turns of working memory that have been consolidated, the newest of them that fit into a payload. What waits or was
// given up is left out: a turn that no model takes must not spoil the sessions after it.
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

// fresh drops candidates all of whose turns are in the bank already: the session came twice. It also
// returns those turns.
func (a *Activities) fresh(ctx context.Context, in RelateInput) ([]formation.Candidate, []string, error) {
	ids := make([]string, len(in.Batch.Turns))
	for i, t := range in.Batch.Turns {
		ids[i] = t.ID
	}
	kept, err := a.Bank.Turns(ctx, in.Batch.Scope, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("look up consolidated turns: %w", err)
	}
	done := make(map[string]bool, len(kept))
	for _, t := range kept {
		done[t.ID] = true
	}
	known := func(id string) bool { return done[id] }
	return slices.DeleteFunc(slices.Clone(in.Candidates), func(c formation.Candidate) bool {
		return !slices.ContainsFunc(c.Sources, func(id string) bool { return !known(id) })
	}), slices.Sorted(maps.Keys(done)), nil
}

// pool collects the entries found, each once and without its vector: the nearest of every lookup first, until
// there are maxPoolBytes of them.
func pool(lookups []formation.Lookup, found [][]bank.Scored) (entries []memory.Memory, near [][]Neighbour) {
	near = make([][]Neighbour, len(lookups))
	at := map[string]int{}
	bytes := 0
	for rank := range formation.MaxNeighbours {
		for i, hits := range found {
			if rank >= len(hits) {
				continue
			}
			m := hits[rank].Memory
			n := Neighbour{Similarity: memory.Cosine(lookups[i].Vector, m.Vector)}
			j, ok := at[m.ID]
			if !ok && bytes+len(m.Content)+len(m.Value) > maxPoolBytes {
				continue
			}
			if !ok {
				j = len(entries)
				at[m.ID] = j
				bytes += entryBytes + len(m.Content) + len(m.Value)
				m.Vector = nil
				entries = append(entries, m)
			}
			n.Pool = j
			near[i] = append(near[i], n)
		}
	}
	return entries, near
}
