package consolidation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds and weights of searches for what is near.
const (
	// relatedAlpha weighs vector against words when relating: alike.
	relatedAlpha = 0.5
	// maxPoolBytes bounds the entries that a search finds, as JSON: they go through payloads with the rest of the batch. The longest turn
	// there can be, what it says, these entries, the window, and a memo with the turn and the entries in it have room together.
	maxPoolBytes = 512 << 10
	// minPoolBytes is what a batch must leave for them: one that says so much that it would be decided without is taken in smaller parts.
	minPoolBytes = maxPoolBytes / 4
	// maxWindowBytes bounds the turns of working memory that a decision sees, as JSON.
	maxWindowBytes = 64 << 10
	// neighbourBytes is what a Neighbour has as JSON, at most.
	neighbourBytes = 64
	// relateParallel bounds the queries of one batch in flight.
	relateParallel = 8
)

// Relate finds the entries near to what the turns say, and what else is decided by. Store-bound.
func (a *Activities) Relate(ctx context.Context, in RelateInput) (Neighbourhood, error) {
	lookups := make([]formation.Lookup, len(in.Candidates))
	for i, c := range in.Candidates {
		lookups[i] = formation.Lookup{Text: c.Content, Vector: c.Vector, K: c.Neighbours}
	}
	searched(lookups)
	n := Neighbourhood{Candidates: in.Candidates}
	var found [][]bank.Scored
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if in.Batch.Plain {
			found = make([][]bank.Scored, len(lookups))
			return nil
		}
		if found, err = a.search(gctx, in.Batch.Scope, lookups); err == nil {
			share(lookups, found)
		}
		return err
	})
	if tenant.Strategy(in.Batch.Strategy).WritesCore() {
		g.Go(func() (err error) {
			n.Core, err = a.Bank.Core(gctx, in.Batch.Scope)
			return err
		})
	}
	g.Go(func() (err error) {
		if !in.Batch.Plain {
			n.Window, err = a.recent(gctx, in.Batch)
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return Neighbourhood{}, classify(fmt.Errorf("relate: %w", err))
	}
	room, err := DecideInput{Batch: in.Batch, Neighbourhood: n}.room()
	if err != nil {
		return Neighbourhood{}, classify(err)
	}
	if room < minPoolBytes {
		return Neighbourhood{}, tooLarge("what the turns say leaves %d bytes for what is related, of %d that are needed", room, minPoolBytes)
	}
	n.Pool, n.Near = related(lookups, found, min(room, maxPoolBytes))
	return n, nil
}

// room is how much may be added to what is decided on: half of what a payload has left, as a former may keep what it is shown in its memo.
func (in DecideInput) room() (int, error) {
	n, err := size(in)
	if err != nil {
		return 0, fmt.Errorf("encode what is decided on: %w", err)
	}
	return (maxPayloadBytes - n) / 2, nil
}

// Search makes the searches that a former asked for. Store-bound.
func (a *Activities) Search(ctx context.Context, in SearchInput) (SearchResult, error) {
	found, err := a.search(ctx, in.Scope, in.Lookups)
	if err != nil {
		return SearchResult{}, classify(fmt.Errorf("search: %w", err))
	}
	var out SearchResult
	out.Pool, out.Near = related(in.Lookups, found, maxPoolBytes)
	return out, nil
}

// nearTexts is in how many parts the turns are searched for that a former is to read what is known about.
const nearTexts = 16

// maxNearText is how much of a part is searched for, in bytes: about what embedding models read.
const maxNearText = 2 << 10

// near finds what the bank has near to a batch's turns, at most n entries, the nearest of every part of them first.
func (a *Activities) near(ctx context.Context, b Batch, n int) ([]memory.Memory, error) {
	var texts []string
	for part := range slices.Chunk(b.Turns, (len(b.Turns)+nearTexts-1)/nearTexts) {
		var said strings.Builder
		for _, t := range part {
			said.WriteString(t.Text + "\n" + t.Caption + "\n")
		}
		texts = append(texts, text.Cut(text.OneLine(said.String()), maxNearText))
	}
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed turns: %w", err)
	}
	lookups := make([]formation.Lookup, len(texts))
	for i, said := range texts {
		lookups[i] = formation.Lookup{Text: said, Vector: vectors[i], K: n}
	}
	found, err := a.search(ctx, b.Scope, lookups)
	if err != nil {
		return nil, err
	}
	out, _ := related(lookups, found, maxPoolBytes)
	return out[:min(n, len(out))], nil
}

// search makes several searches, some at a time.
func (a *Activities) search(ctx context.Context, scope memory.Scope, lookups []formation.Lookup) ([][]bank.Scored, error) {
	found := make([][]bank.Scored, len(lookups))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(relateParallel)
	for i, l := range lookups {
		if l.K == formation.NoNeighbours || l.K == formation.SharedNeighbours {
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
	return found, g.Wait()
}

// searched gives the first of lookups that share what others find a search of its own where no other has one: what they share would be
// nothing, and what is known would be taken for new. That comes about where statements were decided on together and are looked up apart.
func searched(lookups []formation.Lookup) {
	first := -1
	for i, l := range lookups {
		switch {
		case l.K == formation.SharedNeighbours && first < 0:
			first = i
		case l.K != formation.SharedNeighbours && l.K != formation.NoNeighbours:
			return
		}
	}
	if first >= 0 {
		lookups[first].K = 0
	}
}

// share gives the lookups that have no search of their own the nearest to them of what all others found.
func share(lookups []formation.Lookup, found [][]bank.Scored) {
	var all []bank.Scored
	seen := map[string]bool{}
	for _, hits := range found {
		for _, h := range hits {
			if !seen[h.Memory.ID] {
				seen[h.Memory.ID] = true
				all = append(all, h)
			}
		}
	}
	for i, l := range lookups {
		if l.K != formation.SharedNeighbours {
			continue
		}
		near := slices.Clone(all)
		for j := range near {
			near[j].Score = memory.Cosine(l.Vector, near[j].Memory.Vector)
		}
		slices.SortStableFunc(near, func(a, b bank.Scored) int { return cmp.Compare(b.Score, a.Score) })
		found[i] = near[:min(len(near), formation.MaxNeighbours)]
	}
}

// recent returns the turns of working memory that have been consolidated, the newest of them that fit into a payload. What waits or
// was given up is left out: a turn that no model takes must not spoil the sessions after it.
func (a *Activities) recent(ctx context.Context, b Batch) ([]memory.Turn, error) {
	scope := b.Scope
	var at time.Time
	if n := len(b.Turns); n > 0 {
		at = b.Turns[n-1].Time // an imported conversation has its own time
	}
	turns, err := a.Window.Recent(ctx, scope, at)
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
		n, err := size(turns[first-1])
		if err != nil {
			return nil, fmt.Errorf("encode window: %w", err)
		}
		if bytes += n; bytes > maxWindowBytes {
			break
		}
	}
	return turns[first:], nil
}

// related collects the entries found, the nearest of every search first, as long as there is room.
func related(lookups []formation.Lookup, found [][]bank.Scored, room int) ([]memory.Memory, [][]Neighbour) {
	near := make([][]Neighbour, len(lookups))
	p := newPool(room)
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

// pool is entries, each once, to which more are added while there is room.
type pool struct {
	entries []memory.Memory
	at      map[string]int
	room    int
}

func newPool(room int, entries ...memory.Memory) *pool {
	p := &pool{entries: entries, at: make(map[string]int, len(entries)), room: room}
	for i, m := range entries {
		p.at[m.ID] = i
	}
	return p
}

// add makes an entry somebody's neighbour and returns its place; ok is false where there is no room for that.
func (p *pool) add(m memory.Memory) (place int, ok bool) {
	place, again := p.at[m.ID]
	need := neighbourBytes
	if !again {
		n, err := size(m)
		if err != nil {
			return 0, false
		}
		need += n
	}
	if need > p.room {
		return 0, false
	}
	p.room -= need
	if !again {
		place = len(p.entries)
		p.at[m.ID] = place
		p.entries = append(p.entries, m)
	}
	return place, true
}
