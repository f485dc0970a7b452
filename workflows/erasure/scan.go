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
		{Store: "memories", Count: kept.Memories}, {Store: "turns", Count: kept.Turns},
		{Store: "sessions", Count: kept.Sessions}, {Store: "core block", Count: kept.Core},
		{Store: "dropped turns", Count: kept.Dropped},
		{Store: "window turns", Count: recent.Turns}, {Store: "window retired ids", Count: recent.Retired},
	}
	for _, store := range s.Stores {
		n, err := store.Count(ctx, Request{Scope: scope})
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", store.Name(), err)
		}
		counts = append(counts, Count{Store: store.Name(), Count: n})
	}
	return counts, nil
}
