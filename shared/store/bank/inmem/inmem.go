// Package inmem is a bank in memory, for unit tests and trials. It is correct, scans all entries in a search, and is
// lost when the process ends.
package inmem

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bank implements bank.Bank. It copies its arguments and results.
type Bank struct {
	dimension int

	mu    sync.RWMutex
	users map[memory.Scope]*user
}

var _ bank.Bank = (*Bank)(nil)

type user struct {
	entries  map[string]memory.Memory
	terms    map[string]text.TermCounts
	turns    map[string]memory.Turn
	sessions map[string]memory.SessionRecord
	core     memory.Core
	dropped  map[string]memory.Dropped
}

func newUser() *user {
	return &user{
		entries: map[string]memory.Memory{}, terms: map[string]text.TermCounts{}, turns: map[string]memory.Turn{},
		sessions: map[string]memory.SessionRecord{}, dropped: map[string]memory.Dropped{},
	}
}

// New returns an empty bank for vectors of the given dimension.
func New(dimension int) *Bank {
	return &Bank{dimension: dimension, users: map[memory.Scope]*user{}}
}

// Fork returns an independent bank with the same contents. It shares all values, so it costs only copies of the maps.
func (b *Bank) Fork() *Bank {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := New(b.dimension)
	for scope, u := range b.users {
		out.users[scope] = &user{
			entries: maps.Clone(u.entries), terms: maps.Clone(u.terms), turns: maps.Clone(u.turns),
			sessions: maps.Clone(u.sessions), core: u.core, dropped: maps.Clone(u.dropped),
		}
	}
	return out
}

// System names the store for spans.
func (b *Bank) System() string { return "inmem" }

// Write implements bank.Bank. Unlike a remote bank, it applies all of w or nothing.
func (b *Bank) Write(ctx context.Context, scope memory.Scope, w memory.Write) error {
	if err := check(ctx, scope); err != nil {
		return err
	}
	if err := bank.CheckWrite(w, b.dimension); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.users[scope]
	if u == nil {
		u = newUser()
	}
	if err := u.checkTargets(w); err != nil {
		return err
	}
	u.apply(w)
	b.users[scope] = u
	return nil
}

func (u *user) checkTargets(w memory.Write) error {
	for _, id := range bank.Targets(w) {
		_, exists := u.entries[id]
		written := slices.ContainsFunc(w.Put, func(m memory.Memory) bool { return m.ID == id })
		if !exists && !written {
			return fault.Terminal("write.target", "%s: %w", id, bank.ErrNotFound)
		}
	}
	return nil
}

func (u *user) apply(w memory.Write) {
	for _, m := range w.Put {
		if _, exists := u.entries[m.ID]; !exists {
			u.entries[m.ID], u.terms[m.ID] = clone(m), termsOf(m)
		}
	}
	for _, r := range w.Release {
		if m := u.entries[r.ID]; m.Status == memory.StatusQuarantined {
			m.Status = r.Status
			u.entries[r.ID] = m
		}
	}
	for _, c := range w.Close {
		if m := u.entries[c.ID]; m.Status.Open() {
			m.Status, m.ValidTo = c.Status, c.ValidTo
			u.entries[c.ID] = m
		}
	}
	for _, t := range w.Turns {
		u.turns[t.ID] = t
	}
	if w.Core != nil && w.Core.Version >= u.core.Version {
		u.core = *w.Core
	}
	if w.Session != nil && !w.Session.FormedAt.Before(u.sessions[w.Session.SessionID].FormedAt) {
		u.sessions[w.Session.SessionID] = *w.Session
	}
}

// Get implements bank.Bank.
func (b *Bank) Get(ctx context.Context, scope memory.Scope, id string) (memory.Memory, error) {
	if err := check(ctx, scope); err != nil {
		return memory.Memory{}, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if u := b.users[scope]; u != nil {
		if m, ok := u.entries[id]; ok {
			m = clone(m)
			m.Vector = nil
			return m, nil
		}
	}
	return memory.Memory{}, fmt.Errorf("%s: %w", id, bank.ErrNotFound)
}

// List implements bank.Bank.
func (b *Bank) List(ctx context.Context, scope memory.Scope, o bank.ListOptions) (bank.Page, error) {
	o, token, err := o.Checked()
	if err != nil {
		return bank.Page{}, err
	}
	entries, err := b.entries(ctx, scope, o.Statuses)
	if err != nil {
		return bank.Page{}, err
	}
	if !o.Filter.IsZero() {
		entries = slices.DeleteFunc(entries, func(m memory.Memory) bool { return !o.Filter.Match(m) })
	}
	made := func(m memory.Memory) bool {
		return len(o.Sources) == 0 || slices.ContainsFunc(m.Sources, func(id string) bool {
			return slices.Contains(o.Sources, id)
		})
	}
	entries = slices.DeleteFunc(entries, func(m memory.Memory) bool {
		return !token.Before(m) || !made(m) || len(o.Tiers) > 0 && !slices.Contains(o.Tiers, m.Tier)
	})
	slices.SortFunc(entries, bank.ByRecorded)
	if !o.WithVectors {
		entries = withoutVectors(entries)
	}
	page := bank.Page{Memories: entries}
	if len(entries) > o.Limit {
		page.Memories = entries[:o.Limit]
		page.Next = bank.TokenAfter(entries[o.Limit-1]).String()
	}
	return page, nil
}

// History implements bank.Bank.
func (b *Bank) History(ctx context.Context, scope memory.Scope, id string) ([]memory.Memory, error) {
	entries, err := b.entries(ctx, scope, nil)
	if err != nil {
		return nil, err
	}
	connected := map[string]bool{id: true}
	for grown := true; grown; {
		grown = spread(entries, connected)
	}
	versions := slices.DeleteFunc(entries, func(m memory.Memory) bool { return !connected[m.ID] })
	if !slices.ContainsFunc(versions, func(m memory.Memory) bool { return m.ID == id }) {
		return nil, fmt.Errorf("%s: %w", id, bank.ErrNotFound)
	}
	slices.SortFunc(versions, bank.ByVersion)
	return withoutVectors(versions), nil
}

// spread adds the direct predecessors and successors of the connected entries. It reports whether it added any.
func spread(entries []memory.Memory, connected map[string]bool) bool {
	before := len(connected)
	for _, m := range entries {
		if connected[m.ID] || slices.ContainsFunc(m.Predecessors, func(id string) bool { return connected[id] }) {
			connected[m.ID] = true
			for _, id := range m.Predecessors {
				connected[id] = true
			}
		}
	}
	return len(connected) > before
}

// Turns implements bank.Bank.
func (b *Bank) Turns(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Turn, error) {
	if err := check(ctx, scope); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	found := map[string]memory.Turn{}
	if u := b.users[scope]; u != nil {
		for _, id := range ids {
			if t, ok := u.turns[id]; ok {
				found[id] = t
			}
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// Core implements bank.Bank.
func (b *Bank) Core(ctx context.Context, scope memory.Scope) (memory.Core, error) {
	if err := check(ctx, scope); err != nil {
		return memory.Core{}, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if u := b.users[scope]; u != nil {
		return u.core, nil
	}
	return memory.Core{}, nil
}

// Session implements bank.Bank.
func (b *Bank) Session(ctx context.Context, scope memory.Scope, sessionID string) (memory.SessionRecord, bool, error) {
	if err := check(ctx, scope); err != nil {
		return memory.SessionRecord{}, false, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if u := b.users[scope]; u != nil {
		r, ok := u.sessions[sessionID]
		return r, ok, nil
	}
	return memory.SessionRecord{}, false, nil
}

// Owner implements bank.Bank.
func (b *Bank) Owner(ctx context.Context, tenant, id string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := memory.ValidTenant(tenant); err != nil {
		return "", err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var owners []string
	for scope, u := range b.users {
		if _, has := u.entries[id]; has && scope.Tenant == tenant {
			owners = append(owners, scope.User)
		}
	}
	if len(owners) == 0 {
		return "", fmt.Errorf("%s: %w", id, bank.ErrNotFound)
	}
	if len(owners) > 1 {
		return "", fmt.Errorf("%s: %w", id, bank.ErrSeveralOwners)
	}
	return owners[0], nil
}

// entries returns copies of the user's entries of the given states. Without states it returns all.
func (b *Bank) entries(ctx context.Context, scope memory.Scope, statuses []memory.Status) ([]memory.Memory, error) {
	if err := check(ctx, scope); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	u := b.users[scope]
	if u == nil {
		return nil, nil
	}
	var out []memory.Memory
	for _, m := range u.entries {
		if len(statuses) == 0 || slices.Contains(statuses, m.Status) {
			out = append(out, clone(m))
		}
	}
	return out, nil
}

func check(ctx context.Context, scope memory.Scope) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return bank.CheckScope(scope)
}

func withoutVectors(entries []memory.Memory) []memory.Memory {
	for i := range entries {
		entries[i].Vector = nil
	}
	return entries
}

func clone(m memory.Memory) memory.Memory {
	m.Keywords = slices.Clone(m.Keywords)
	m.Predecessors = slices.Clone(m.Predecessors)
	m.Sources = slices.Clone(m.Sources)
	m.Vector = slices.Clone(m.Vector)
	return m
}
