package formationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// maxSearches is more often than any former searches the bank for one session.
const maxSearches = 32

// Life is one user's memory while a test forms sessions into it, in process: a bank in memory and the built-in
// embedding.
type Life struct {
	Bank   *inmem.Bank
	Former formation.Former
	// Verdicts are the decisions on the sessions so far.
	Verdicts []formation.Verdict
	// Searches counts the searches that the former asked for.
	Searches int

	embedder *builtin.Embedder
	core     memory.Core
	window   []memory.Turn
}

// NewLife begins with an empty bank.
func NewLife(f formation.Former) *Life {
	return &Life{Bank: inmem.New(builtin.Dimension), Former: f, embedder: builtin.New()}
}

// Fork returns a copy of the memory without its verdicts and searches. Later sessions of one copy do not change the
// other.
func (l *Life) Fork() *Life {
	return &Life{Bank: l.Bank.Fork(), Former: l.Former, embedder: l.embedder, core: l.core, window: slices.Clone(l.window)}
}

// Form forms one session, as the consolidation workflow does, and returns the verdict and the written entries.
func (l *Life) Form(ctx context.Context, in formation.Session) (formation.Verdict, memory.Write, error) {
	candidates, err := l.Former.Extract(ctx, in)
	if err != nil {
		return formation.Verdict{}, memory.Write{}, fmt.Errorf("extract: %w", err)
	}
	formation.Number(candidates)
	b := formation.Bundle{Session: in, Core: l.core, Window: l.window}
	shown := map[string]memory.Memory{}
	for _, c := range candidates {
		found, vector, err := l.search(ctx, in.Scope, c.Content, c.Neighbours, shown)
		if err != nil {
			return formation.Verdict{}, memory.Write{}, err
		}
		c.Vector = vector
		b.Related = append(b.Related, formation.Related{Candidate: c, Memories: found.Memories, Similarity: found.Similarity})
	}
	v, err := l.decide(ctx, b, shown)
	if err != nil {
		return v, memory.Write{}, err
	}
	w, err := l.write(ctx, in, v, shown)
	l.Verdicts, l.window = append(l.Verdicts, v), append(l.window, in.Turns...)
	l.window = slices.DeleteFunc(l.window, func(t memory.Turn) bool { return slices.Contains(w.Retire, t.ID) })
	return v, w, err
}

// decide asks until the former has searched enough.
func (l *Life) decide(
	ctx context.Context, b formation.Bundle, shown map[string]memory.Memory,
) (formation.Verdict, error) {
	if len(b.Related) == 0 {
		return formation.Verdict{}, nil
	}
	for range maxSearches {
		v, err := l.Former.Decide(ctx, b)
		if err != nil || len(v.Lookups) == 0 {
			return v, err
		}
		b.Memo, b.Found = json.RawMessage(v.Memo), nil
		for _, lookup := range v.Lookups {
			l.Searches++
			found, _, err := l.search(ctx, b.Session.Scope, lookup.Text, lookup.K, shown)
			if err != nil {
				return formation.Verdict{}, err
			}
			b.Found = append(b.Found, found)
		}
	}
	return formation.Verdict{}, fmt.Errorf("no decision after %d searches", maxSearches)
}

func (l *Life) search(ctx context.Context, scope memory.Scope, text string, k int,
	shown map[string]memory.Memory) (formation.Found, memory.Vector, error) {
	vectors, err := l.embedder.Embed(ctx, []string{text})
	if err != nil || k == formation.NoNeighbours {
		return formation.Found{}, nil, err
	}
	if k == formation.SharedNeighbours { // a search of its own finds as much
		k = 0
	}
	hits, err := l.Bank.Search(ctx, scope, bank.Query{Text: text, Vector: vectors[0], K: k, Alpha: 0.5, WithVectors: true})
	if err != nil {
		return formation.Found{}, nil, err
	}
	var f formation.Found
	for _, h := range hits {
		f.Similarity = append(f.Similarity, memory.Cosine(vectors[0], h.Memory.Vector))
		h.Memory.Vector = nil
		f.Memories = append(f.Memories, h.Memory)
		shown[h.Memory.ID] = h.Memory
	}
	return f, vectors[0], nil
}

func (l *Life) write(
	ctx context.Context, in formation.Session, v formation.Verdict, shown map[string]memory.Memory,
) (memory.Write, error) {
	var existing []memory.Memory
	for _, m := range shown {
		existing = append(existing, m)
	}
	now := in.Turns[len(in.Turns)-1].Time
	w, err := memory.Plan(in.Scope, v.Operations, existing, now)
	if err != nil {
		return w, fmt.Errorf("plan: %w", err)
	}
	if w.Core, err = memory.PlanCore(in.Scope, l.core, v.Core, in.ID, l.Former.Version(), now); err != nil {
		return w, fmt.Errorf("plan core: %w", err)
	}
	for i := range w.Put {
		vectors, err := l.embedder.Embed(ctx, []string{w.Put[i].Content})
		if err != nil {
			return w, err
		}
		w.Put[i].Vector = vectors[0]
	}
	w.Turns = in.Turns
	if w.Core != nil {
		l.core = *w.Core
	}
	return w, l.Bank.Write(ctx, in.Scope, w)
}

// Core is the core block as it is.
func (l *Life) Core() memory.Core { return l.core }

// Active returns the entries that hold.
func (l *Life) Active(t *testing.T, scope memory.Scope) []memory.Memory {
	t.Helper()
	return l.list(t, scope, memory.StatusActive)
}

// All returns the entries of every state.
func (l *Life) All(t *testing.T, scope memory.Scope) []memory.Memory {
	t.Helper()
	return l.list(t, scope)
}

func (l *Life) list(t *testing.T, scope memory.Scope, statuses ...memory.Status) []memory.Memory {
	t.Helper()
	page, err := l.Bank.List(t.Context(), scope, bank.ListOptions{Statuses: statuses, Limit: 1000})
	if err != nil || page.Next != "" {
		t.Fatalf("list: %v, more: %t", err, page.Next != "")
	}
	return page.Memories
}
