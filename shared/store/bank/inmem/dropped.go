package inmem

import (
	"context"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

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
