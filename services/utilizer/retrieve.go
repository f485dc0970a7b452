package utilizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// errOddVector says what is wrong with an embedding.
var errOddVector = errors.New("the embedder returned a vector of another dimension, or one that is not of unit length")

// candidate is a memory that may be shown.
type candidate = features.Candidate

// found is what was retrieved for a query.
type found struct {
	candidates []candidate
	// from has the projected vectors; nil where the candidates come from a search.
	from *cachedIndex
	// scores are the search's, where nothing else orders the candidates.
	scores []float64
	// support are the log odds that the candidates answer; 0 where they were not looked at.
	support float64
	// best is the best score of the candidates by the shared prior; 0 where they were not looked at.
	best float64
	// request says that a user asks an assistant for something.
	request bool
	// hardlyNeeded says of the first candidates whether the floor leaves them out, where a user asks an assistant; nil elsewhere.
	hardlyNeeded []bool
	// resolved is the query with what it leaves to the talk; vector is its embedding, nil where there is none.
	resolved string
	vector   []float32
	turns    []memory.Turn
	// core is the core block, coreMemories are those that it rests on.
	core         memory.Core
	coreMemories []memory.Memory
	// owner tells the user's turns from those of other speakers.
	owner memory.Owner
	// turnsErr says why the turns of the candidates are missing.
	turnsErr error
}

// retrieve looks for candidates by the query with what it leaves to the talk, and reads window and core block beside that. The core block
// tells what holds now, and nothing about the past; it is at hand where the index is.
func (r *Recaller) retrieve(
	ctx context.Context, scope memory.Scope, q Request, resolved string, h recall.Horizon, out *Result,
) (found, error) {
	f := found{resolved: resolved}
	var windowErr, coreErr error
	known := r.Indexes.get(scope) // before the search, which has an index made: what a first recall reads hangs on no race
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if f.vector, err = r.embed(gctx, resolved); err != nil {
			return err
		}
		return r.candidates(gctx, scope, q, h, &f)
	})
	g.Go(func() error {
		wctx, cancel := context.WithTimeout(gctx, r.WindowTimeout)
		defer cancel()
		f.turns, windowErr = r.Window.Recent(wctx, scope, r.Now())
		f.turns = h.Turns(f.turns)
		return nil
	})
	switch {
	case h.Past:
	case known != nil && known.index != nil:
		f.core, f.coreMemories = known.core, known.coreMemories
	default:
		g.Go(func() error {
			cctx, cancel := context.WithTimeout(gctx, r.WindowTimeout)
			defer cancel()
			f.core, f.coreMemories, coreErr = r.readCore(cctx, scope)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return found{}, err
	}
	f.filterCore(q.Filter)
	if f.vector == nil {
		r.degrade(ctx, out, EmbeddingUnusable, errOddVector)
	}
	r.degrade(ctx, out, DialogueUnavailable, f.turnsErr)
	r.degrade(ctx, out, WindowUnavailable, windowErr)
	r.degrade(ctx, out, CoreUnavailable, coreErr)
	return f, nil
}

// filterCore leaves of the core block the lines whose first memory a filter matches. A block that a strategy wrote rests on no memory, and
// is left out as a whole.
func (f *found) filterCore(filter memory.Filter) {
	if filter.IsZero() {
		return
	}
	f.coreMemories = slices.DeleteFunc(slices.Clone(f.coreMemories), func(m memory.Memory) bool { return !filter.Match(m) })
	f.core = f.core.Only(func(l memory.CoreLine) bool {
		return slices.ContainsFunc(f.coreMemories, func(m memory.Memory) bool { return m.ID == l.Memories[0] })
	})
}

// readCore reads the core block with the memories that it rests on. One that is gone is left out.
func (r *Recaller) readCore(ctx context.Context, scope memory.Scope) (memory.Core, []memory.Memory, error) {
	core, err := r.Bank.Core(ctx, scope)
	if err != nil || len(core.Lines) == 0 {
		return core, nil, err
	}
	memories := make([]memory.Memory, len(core.Lines))
	g, gctx := errgroup.WithContext(ctx)
	for i, l := range core.Lines {
		g.Go(func() error {
			m, err := r.Bank.Get(gctx, scope, l.Memories[0])
			if memories[i] = m; errors.Is(err, bank.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return memory.Core{}, nil, fmt.Errorf("read what the core block rests on: %w", err)
	}
	return core, slices.DeleteFunc(memories, func(m memory.Memory) bool { return m.ID == "" }), nil
}

// embed makes the query's vector: none where the embedder returned no vector of its own kind.
func (r *Recaller) embed(ctx context.Context, query string) ([]float32, error) {
	vectors, err := r.Embedder.Embed(ctx, []string{query})
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	if len(vectors) != 1 || len(vectors[0]) != r.Embedder.Dimension() || unusable(vectors[0]) {
		return nil, nil
	}
	return vectors[0], nil
}

// unusable says of a vector that it cannot be compared: it has what is no number, or is so long that a product of two might be none.
func unusable(v []float32) bool {
	const longest = 1e12
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return !(square < longest) // NaN, too
}

// withoutUnusable removes vectors that cannot be compared: the memories are found by their words.
func withoutUnusable(memories []memory.Memory) []memory.Memory {
	for i := range memories {
		if unusable(memories[i].Vector) {
			memories[i].Vector = nil
		}
	}
	return memories
}

// candidates asks all that the user remembers where that is at hand, or soon is, and the bank's search where not.
func (r *Recaller) candidates(ctx context.Context, scope memory.Scope, q Request, h recall.Horizon, f *found) error {
	if q.Unranked {
		hits, err := r.search(ctx, scope, q, h, f)
		for _, s := range h.Filter(hits) {
			f.candidates, f.scores = append(f.candidates, candidate{Memory: s.Memory}), append(f.scores, s.Score)
		}
		return err
	}
	known := r.Indexes.get(scope)
	if known == nil || known.index == nil {
		var ready <-chan *cachedIndex // from which nothing comes for who is too large
		if known == nil {
			ready = r.Indexes.fetch(scope)
		}
		hits, made, err := r.either(ctx, scope, q, h, f, ready)
		if made == nil {
			r.chooseOf(ctx, scope, hits, q, h, f)
			return err
		}
		known = made
	}
	f.from, f.owner = known, known.owner
	r.choose(known.index, q, h, f)
	return nil
}

// either searches the bank while an index is made. It returns the index where that is ready first or soon after, and what was found
// otherwise.
func (r *Recaller) either(
	ctx context.Context, scope memory.Scope, q Request, h recall.Horizon, f *found, ready <-chan *cachedIndex,
) (hits []bank.Scored, made *cachedIndex, err error) {
	searching, cancel := context.WithCancel(ctx)
	defer cancel()
	searched := make(chan struct{})
	go func() {
		defer close(searched)
		hits, err = r.search(searching, scope, q, h, f)
	}()
	select {
	case made = <-ready:
	case <-searched:
		if ready == nil {
			break
		}
		select {
		case made = <-ready:
		case <-time.After(r.IndexTimeout):
		case <-ctx.Done():
		}
	}
	if made != nil {
		cancel() // what the search finds is not wanted
	}
	<-searched
	return hits, made, err
}

// chooseOf chooses among what a search found.
func (r *Recaller) chooseOf(ctx context.Context, scope memory.Scope, hits []bank.Scored, q Request, h recall.Horizon, f *found) {
	if len(hits) == 0 {
		return
	}
	memories := make([]memory.Memory, len(hits))
	var sources []string
	for i, s := range hits {
		memories[i] = s.Memory
		sources = append(sources, s.Memory.Sources...)
	}
	slices.Sort(sources)
	var turns []memory.Turn
	turns, f.turnsErr = r.Bank.Turns(ctx, scope, slices.Compact(sources))
	f.owner = memory.OwnerOf(scope, turns)
	r.choose(features.New(r.Indexes.table, withoutUnusable(memories), turns), q, h, f)
}

// choose takes the candidates that the tenant's weights put first, and says whether they answer. Of the versions of one memory it keeps the
// one that the query is about.
func (r *Recaller) choose(x *features.Index, q Request, h recall.Horizon, f *found) {
	query := features.Query{Text: q.Query, Messages: q.Messages, Vector: f.vector, Now: r.Now(), Past: h.Past || h.Event}
	if !q.Filter.IsZero() {
		query.Match = q.Filter.Match
	}
	depth := max(q.Candidates, features.SupportDepth)
	if h.Past {
		depth *= 2 // for what the horizon leaves out
	}
	all := x.Candidates(query, q.chooser, depth)
	if query.Past {
		all = within(h, all)
	}
	f.support, f.best = r.Support.LogOdds(all), r.Support.Best(all)
	f.request = f.from != nil && x.Request(query) // what a search found does not tell who else speaks
	f.candidates = all[:min(len(all), q.Candidates)]
	if f.request && !h.Past {
		f.hardlyNeeded = r.Relevance.HardlyNeeded(all[:min(len(all), features.RelevanceDepth)], x.Units(), r.Floor)
	}
}

// within keeps what the query is about of the candidates.
func within(h recall.Horizon, all []candidate) []candidate {
	var hits []bank.Scored
	for _, c := range all {
		for _, m := range append([]memory.Memory{c.Memory}, c.Siblings...) {
			hits = append(hits, bank.Scored{Memory: m})
		}
	}
	keep := map[string]bool{}
	for _, s := range h.Filter(hits) {
		keep[s.Memory.ID] = true
	}
	var out []candidate
	for _, c := range all {
		members := append([]memory.Memory{c.Memory}, c.Siblings...)
		members = slices.DeleteFunc(members, func(m memory.Memory) bool { return !keep[m.ID] })
		if len(members) == 0 {
			continue
		}
		c.Memory, c.Siblings, c.Turns = members[0], members[1:], h.Turns(c.Turns)
		out = append(out, c)
	}
	return out
}

// searchDepth is how many memories the bank is asked for where they are to be ranked: what answers is often not among its first.
const searchDepth = 200

// search is the bank's own hybrid search.
func (r *Recaller) search(ctx context.Context, scope memory.Scope, q Request, h recall.Horizon, f *found) ([]bank.Scored, error) {
	k := q.Candidates
	if !q.Unranked {
		k = max(k, searchDepth)
	}
	hits, err := r.Bank.Search(ctx, scope, bank.Query{
		Text: f.resolved, Vector: f.vector, K: k, Alpha: r.Alpha, Statuses: h.Statuses(), WithVectors: !q.Unranked,
		Filter: q.Filter,
	})
	if err != nil {
		return nil, fmt.Errorf("search bank: %w", err)
	}
	return hits, nil
}
