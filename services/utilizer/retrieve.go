package utilizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// errOddVector is the error for an unusable embedding.
var errOddVector = errors.New("the embedder returned a vector of another dimension, or one that is not of unit length")

// candidate is a memory that may be shown.
type candidate = features.Candidate

// found is the result of the retrieval for a query.
type found struct {
	candidates []candidate
	// index is the index of the candidates. It is nil if a search alone orders them.
	index *features.Index
	// from has the projected vectors. It is nil if the candidates come from a search.
	from *cachedIndex
	// scores are the search's scores, if they alone order the candidates.
	scores []float64
	// support has the log odds that the candidates answer the query. It is 0 without an estimate.
	support float64
	// best is the best score of the candidates by the shared prior. It is 0 without an estimate.
	best float64
	// request is true if a user asks an assistant for something.
	request bool
	// hardlyNeeded has a value per first candidate: true if the floor removes it. It is set for a request to an
	// assistant, and for any question that a model answers. It is nil otherwise.
	hardlyNeeded []bool
	// vector is the embedding of the resolved query, or nil without one.
	vector []float32
	turns  []memory.Turn
	// core is the core block, and coreMemories are its source memories.
	core         memory.Core
	coreMemories []memory.Memory
	// owner distinguishes the user's turns from turns of other speakers.
	owner memory.Owner
	// replaced returns the earlier versions of a memory. It is nil without candidates.
	replaced func(id string) []memory.Memory
	// turnsErr is the reason why the turns of the candidates are missing.
	turnsErr error
}

// retrieve finds candidates with the query and the resolved conversation. It reads window and core block in parallel.
// The core block only has current facts, so it is skipped for questions about the past. The index includes the core
// block.
func (r *Recaller) retrieve(ctx context.Context, scope memory.Scope, q Request, out *Result) (found, error) {
	f, h := found{}, q.asked.Horizon
	var windowErr, coreErr error
	// The search starts an index load. A read before it depends on no race.
	known := r.Indexes.get(scope)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if f.vector, err = r.embed(gctx, q.asked.Resolved); err != nil {
			return err
		}
		return r.candidates(gctx, scope, q, &f)
	})
	g.Go(func() error {
		wctx, cancel := context.WithTimeout(gctx, r.WindowTimeout)
		defer cancel()
		f.turns, windowErr = r.Window.Recent(wctx, scope, r.Now())
		f.turns = recall.TurnsWithin(h, f.turns)
		return nil
	})
	switch {
	case h.Intent == intent.Past:
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
	f.core = stillHolding(f.core, cmp.Or(h.At, r.Now()))
	if f.vector == nil {
		r.degrade(ctx, out, EmbeddingUnusable, errOddVector)
	}
	r.degrade(ctx, out, DialogueUnavailable, f.turnsErr)
	r.degrade(ctx, out, WindowUnavailable, windowErr)
	r.degrade(ctx, out, CoreUnavailable, coreErr)
	return f, nil
}

// stillHolding returns a core block without the lines that held only until an earlier day. It keeps a block that a
// strategy wrote, because that has no lines.
func stillHolding(core memory.Core, at time.Time) memory.Core {
	over := func(l memory.CoreLine) bool { return l.Over(at) }
	if !slices.ContainsFunc(core.Lines, over) {
		return core
	}
	return core.Only(func(l memory.CoreLine) bool { return !over(l) })
}

// filterCore keeps the lines of the core block with a matching first memory. It removes a whole block that a strategy
// wrote, because it has no source memories.
func (f *found) filterCore(filter memory.Filter) {
	if filter.IsZero() {
		return
	}
	f.coreMemories = slices.DeleteFunc(slices.Clone(f.coreMemories), func(m memory.Memory) bool {
		return !filter.Match(m)
	})
	f.core = f.core.Only(func(l memory.CoreLine) bool {
		return slices.ContainsFunc(f.coreMemories, func(m memory.Memory) bool { return m.ID == l.Memories[0] })
	})
}

// readCore reads the core block with its source memories. It omits deleted ones.
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
		return memory.Core{}, nil, fmt.Errorf("read the sources of the core block: %w", err)
	}
	return core, slices.DeleteFunc(memories, func(m memory.Memory) bool { return m.ID == "" }), nil
}

// embed returns the query's vector. It returns no vector if the embedder's vector has the wrong form.
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

// unusable reports whether a vector cannot be compared: it has a value that is not a number, or is so long that a
// product of two may overflow.
func unusable(v []float32) bool {
	const longest = 1e12
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return !(square < longest) // NaN, too
}

// withoutUnusable removes vectors that cannot be compared. Search by words still finds the memories.
func withoutUnusable(memories []memory.Memory) []memory.Memory {
	for i := range memories {
		if unusable(memories[i].Vector) {
			memories[i].Vector = nil
		}
	}
	return memories
}

// candidates selects from all memories of the user if an index is ready or soon ready, and from the bank's search
// otherwise.
func (r *Recaller) candidates(ctx context.Context, scope memory.Scope, q Request, f *found) error {
	if q.Unranked {
		hits, err := r.search(ctx, scope, q, f)
		for _, s := range recall.Within(q.asked.Horizon, hits) {
			f.candidates, f.scores = append(f.candidates, candidate{Memory: s.Memory}), append(f.scores, s.Score)
		}
		return err
	}
	known := r.Indexes.get(scope)
	if known == nil || known.index == nil {
		var ready <-chan *cachedIndex // gets no value for a user that is too large
		if known == nil {
			ready = r.Indexes.fetch(scope)
		}
		hits, made, err := r.either(ctx, scope, q, f, ready)
		if made == nil {
			r.chooseOf(ctx, scope, hits, q, f)
			return err
		}
		known = made
	}
	f.from, f.owner = known, known.owner
	r.choose(known.index, q, f)
	return nil
}

// either searches the bank during an index load. It returns the index if it is ready first or soon after, and the
// search result otherwise.
func (r *Recaller) either(
	ctx context.Context, scope memory.Scope, q Request, f *found, ready <-chan *cachedIndex,
) (hits []bank.Scored, made *cachedIndex, err error) {
	searching, cancel := context.WithCancel(ctx)
	defer cancel()
	searched := make(chan struct{})
	go func() {
		defer close(searched)
		hits, err = r.search(searching, scope, q, f)
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
		cancel() // the search result is not needed
	}
	<-searched
	return hits, made, err
}

// chooseOf selects candidates from a search result.
func (r *Recaller) chooseOf(ctx context.Context, scope memory.Scope, hits []bank.Scored, q Request, f *found) {
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
	r.choose(features.New(r.Indexes.table, withoutUnusable(memories), turns), q, f)
}

// choose selects the best candidates by the tenant's weights, and estimates whether they answer the query. It keeps
// the version of a memory that fits the time of the query.
func (r *Recaller) choose(x *features.Index, q Request, f *found) {
	h := q.asked.Horizon
	f.index = x
	asked := features.Query{Query: q.asked, Vector: f.vector, Past: h.Intent != intent.Present}
	if !q.Filter.IsZero() {
		asked.Match = q.Filter.Match
	}
	depth := max(q.Candidates, features.SupportDepth)
	if h.Intent == intent.Past {
		depth *= 2 // to replace memories outside the horizon
	}
	if f.from != nil && h.Intent != intent.Past {
		for _, m := range f.from.coreMemories {
			asked.Standing = append(asked.Standing, m.ID)
		}
	}
	f.replaced = x.Replaced
	all := dropOver(q.asked, cmp.Or(h.At, r.Now()), x.Candidates(asked, q.chooser, depth))
	if asked.Past {
		all = within(h, all)
	}
	f.support, f.best = r.Support.LogOdds(all), r.Support.Best(all)
	f.request = f.from != nil && x.IsRequest(q.asked) // a search result does not show other speakers
	if f.candidates = all[:min(len(all), q.Candidates)]; h.Intent != intent.Past {
		f.candidates = chosen(all, len(f.candidates), asked.Standing)
	}
	if (f.request || q.modelled) && h.Intent != intent.Past {
		f.hardlyNeeded = r.Relevance.HardlyNeeded(all[:min(len(all), features.RelevanceDepth)], x.Units(), r.Floor)
	}
}

// chosen returns the first n candidates, and the newer memories that link to one of them, to a standing memory, or to
// another newer memory.
func chosen(all []candidate, n int, standing []string) []candidate {
	out, older, rest := slices.Clone(all[:n]), slices.Clone(standing), make([]int, len(all)-n)
	for _, c := range out {
		older = append(older, c.Memory.ID)
	}
	for i := range rest {
		rest[i] = n + i
	}
	taken := map[int]bool{}
	memory.NewerOf(rest, func(i int) memory.Memory { return all[i].Memory }).Walk(older, len(all), func(i int) bool {
		if len(out) == maxCandidates || taken[i] {
			return false
		}
		taken[i] = true
		out = append(out, all[i])
		return true
	})
	return out
}

// within keeps the candidates in the time of the query. Each memory is the first of one candidate at most.
func within(h query.Horizon, all []candidate) []candidate {
	var hits []bank.Scored
	for _, c := range all {
		for _, m := range append([]memory.Memory{c.Memory}, c.Siblings...) {
			hits = append(hits, bank.Scored{Memory: m})
		}
	}
	keep := map[string]bool{}
	for _, s := range recall.Within(h, hits) {
		keep[s.Memory.ID] = true
	}
	var out []candidate
	shown := map[string]bool{}
	for _, c := range all {
		members := append([]memory.Memory{c.Memory}, c.Siblings...)
		members = slices.DeleteFunc(members, func(m memory.Memory) bool { return !keep[m.ID] || shown[m.ID] })
		if len(members) == 0 {
			continue
		}
		shown[members[0].ID] = true
		c.Memory, c.Siblings, c.Turns = members[0], members[1:], recall.TurnsWithin(h, c.Turns)
		out = append(out, c)
	}
	return out
}

// searchDepth is the number of memories requested from the bank for ranking. The answer is often not among the first
// results.
const searchDepth = 200

// search is the bank's hybrid search.
func (r *Recaller) search(ctx context.Context, scope memory.Scope, q Request, f *found) ([]bank.Scored, error) {
	k, statuses := q.Candidates, recall.Statuses(q.asked.Horizon)
	if !q.Unranked {
		k = max(k, searchDepth)
		if q.asked.Horizon.Intent == intent.Present { // earlier versions find the current one by their words
			statuses = append(statuses, memory.StatusSuperseded)
		}
	}
	hits, err := r.Bank.Search(ctx, scope, bank.Query{
		Text: q.asked.Resolved, Vector: f.vector, K: k, Alpha: r.Alpha, Statuses: statuses,
		WithVectors: !q.Unranked, Filter: q.Filter,
	})
	if err != nil {
		return nil, fmt.Errorf("search bank: %w", err)
	}
	return hits, nil
}
