package inmem

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Erase implements bank.Bank.
func (b *Bank) Erase(ctx context.Context, scope memory.Scope) error {
	if err := check(ctx, scope); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.users, scope)
	return nil
}

// EraseTalk implements bank.Bank.
func (b *Bank) EraseTalk(ctx context.Context, scope memory.Scope, before time.Time) error {
	if err := check(ctx, scope); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.users[scope]; u != nil {
		for id, m := range u.entries {
			if m.Tier == memory.TierTalk && m.ValidFrom.Before(before) {
				delete(u.entries, id)
				delete(u.terms, id)
			}
		}
	}
	return nil
}

// CountListed implements bank.Bank.
func (b *Bank) CountListed(ctx context.Context, scope memory.Scope, o bank.ListOptions) (int, error) {
	return bank.CountEach(ctx, b, scope, o)
}

// CountMemories implements bank.Bank.
func (b *Bank) CountMemories(ctx context.Context, tenant string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := memory.ValidTenant(tenant); err != nil {
		return 0, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	n := 0
	for scope, u := range b.users {
		if scope.Tenant == tenant {
			for _, m := range u.entries {
				if m.Status.Open() && m.Tier == memory.TierMemory {
					n++
				}
			}
		}
	}
	return n, nil
}

// Count implements bank.Bank.
func (b *Bank) Count(ctx context.Context, scope memory.Scope) (bank.Counts, error) {
	if err := check(ctx, scope); err != nil {
		return bank.Counts{}, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	u := b.users[scope]
	if u == nil {
		return bank.Counts{}, nil
	}
	counts := bank.Counts{Memories: len(u.entries), Turns: len(u.turns), Sessions: len(u.sessions),
		Dropped: len(u.dropped)}
	if u.core.Version > 0 {
		counts.Core = 1
	}
	return counts, nil
}

// ListTurns implements bank.Bank.
func (b *Bank) ListTurns(ctx context.Context, scope memory.Scope, o bank.PageOptions) (bank.TurnPage, error) {
	var page bank.TurnPage
	var err error
	page.Turns, page.Next, err = listed(ctx, b, scope, o, func(u *user) map[string]memory.Turn { return u.turns })
	return page, err
}

// ListSessions implements bank.Bank.
func (b *Bank) ListSessions(ctx context.Context, scope memory.Scope, o bank.PageOptions) (bank.SessionPage, error) {
	var page bank.SessionPage
	var err error
	page.Sessions, page.Next, err = listed(ctx, b, scope, o, func(u *user) map[string]memory.SessionRecord {
		return u.sessions
	})
	return page, err
}

// listed returns a page of a user's objects, ordered by id.
func listed[T any](
	ctx context.Context, b *Bank, scope memory.Scope, o bank.PageOptions, of func(*user) map[string]T,
) (page []T, next string, err error) {
	if err := check(ctx, scope); err != nil {
		return nil, "", err
	}
	if o, err = o.Checked(); err != nil {
		return nil, "", err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	u := b.users[scope]
	if u == nil {
		return nil, "", nil
	}
	all := of(u)
	ids := slices.SortedFunc(maps.Keys(all), strings.Compare)
	ids = slices.DeleteFunc(ids, func(id string) bool { return o.Token != "" && id <= o.Token })
	if len(ids) > o.Limit {
		ids = ids[:o.Limit]
		next = ids[o.Limit-1]
	}
	for _, id := range ids {
		page = append(page, all[id])
	}
	return page, next, nil
}

// WriteDropped implements bank.Bank.
func (b *Bank) WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error {
	if err := check(ctx, scope); err != nil {
		return err
	}
	if err := bank.CheckDropped(dropped); err != nil || len(dropped) == 0 {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.users[scope]
	if u == nil {
		u = newUser()
		b.users[scope] = u
	}
	for _, d := range dropped {
		u.dropped[d.TurnID] = d
	}
	return nil
}

// Dropped implements bank.Bank.
func (b *Bank) Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error) {
	if err := check(ctx, scope); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	u := b.users[scope]
	if u == nil {
		return nil, nil
	}
	var out []memory.Dropped
	seen := map[string]bool{}
	for _, id := range turnIDs {
		if d, ok := u.dropped[id]; ok && !seen[id] {
			seen[id] = true
			out = append(out, d)
		}
	}
	return out, nil
}

// EraseDropped implements bank.Bank.
func (b *Bank) EraseDropped(ctx context.Context, scope memory.Scope) error {
	if err := check(ctx, scope); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.users[scope]; u != nil {
		clear(u.dropped)
	}
	return nil
}
