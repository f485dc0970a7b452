package erasure

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// Scanner counts everything that is kept of a user, whether an erasure is under way or not.
type Scanner struct {
	Bank   bank.Bank
	Window window.Window
	Stores []Store
}

// Scan counts every store, those with nothing included.
func (s Scanner) Scan(ctx context.Context, scope memory.Scope) ([]Count, error) {
	kept, err := s.Bank.Count(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("count bank: %w", err)
	}
	recent, err := s.Window.Count(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("count window: %w", err)
	}
	counts := []Count{
		{"memories", kept.Memories}, {"turns", kept.Turns}, {"sessions", kept.Sessions}, {"core block", kept.Core},
		{"dropped turns", kept.Dropped},
		{"window turns", recent.Turns}, {"window retired ids", recent.Retired},
	}
	rest, err := (&Activities{Stores: s.Stores}).CountStores(ctx, Request{Scope: scope})
	return append(counts, rest...), err
}
