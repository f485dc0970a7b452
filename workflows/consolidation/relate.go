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

// Limits and weights of searches for related entries.
const (
	// relatedAlpha weighs vectors and words equally when relating.
	relatedAlpha = 0.5
	// maxPoolBytes limits the entries that a search finds, in bytes of JSON. They share payloads with the rest of the
	// batch. These parts fit together: the longest allowed turn, its content, these entries, the window, and a memo
	// with the turn and the entries.
	maxPoolBytes = 512 << 10
	// minPoolBytes is the room that a batch must leave for the entries. A batch that leaves less is split, because it
	// would be decided without them.
	minPoolBytes = maxPoolBytes / 4
	// maxWindowBytes limits the window's turns in a decision, in bytes of JSON.
	maxWindowBytes = 64 << 10
	// neighbourBytes is the maximum size of a Neighbour as JSON, in bytes.
	neighbourBytes = 64
	// relateParallel limits the simultaneous queries of one batch.
	relateParallel = 8
)

// Relate finds the entries near to the turns' content, and the other inputs of a decision. It waits for stores only.
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
		return Neighbourhood{}, tooLarge("the turns leave %d bytes for related entries, but %d are needed", room,
			minPoolBytes)
	}
	n.Pool, n.Near = related(lookups, found, min(room, maxPoolBytes))
	return n, nil
}

// room returns how many bytes may be added to the input of a decision. It is half of the free payload, because a
// former may keep its input in its memo.
func (in DecideInput) room() (int, error) {
	n, err := size(in)
	if err != nil {
		return 0, fmt.Errorf("encode the input of the decision: %w", err)
	}
	return (maxPayloadBytes - n) / 2, nil
}

// Search runs the searches that a former requested. It waits for stores only.
func (a *Activities) Search(ctx context.Context, in SearchInput) (SearchResult, error) {
	found, err := a.search(ctx, in.Scope, in.Lookups)
	if err != nil {
		return SearchResult{}, classify(fmt.Errorf("search: %w", err))
	}
	var out SearchResult
	out.Pool, out.Near = related(in.Lookups, found, maxPoolBytes)
	return out, nil
}

// nearTexts is the number of parts of the turns that are searched for the former's known entries.
const nearTexts = 16

// maxNearText is the maximum length of a search text in bytes: about the length that embedding models read.
const maxNearText = 2 << 10

// searchNear finds at most n entries near to a batch's turns. The nearest entries of every part come first.
func (a *Activities) searchNear(ctx context.Context, b Batch, n int) ([]memory.Memory, error) {
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

// search runs several searches, some in parallel.
func (a *Activities) search(
	ctx context.Context, scope memory.Scope, lookups []formation.Lookup,
) ([][]bank.Scored, error) {
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

// searched adds a search to the first of several sharing lookups if none of them has one. Without it they would share
// an empty result, and a known fact would look new. That occurs if statements are decided together but looked up
// separately.
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

// share gives lookups without a search the nearest entries from the results of all others.
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

// recent returns the newest consolidated turns of working memory that fit into a payload. It omits waiting and failed
// turns: a turn that no model accepts must not disturb later sessions.
func (a *Activities) recent(ctx context.Context, b Batch) ([]memory.Turn, error) {
	scope := b.Scope
	var at time.Time
	if n := len(b.Turns); n > 0 {
		at = b.Turns[n-1].Time // an imported conversation has an older time
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

// related collects the entries found while there is room. The nearest entries of every search come first.
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

// pool holds entries, each once. It accepts more while there is room.
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

// add adds an entry to the pool and returns its place. ok is false if there is no room.
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
