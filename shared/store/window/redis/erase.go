package redis

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// Indexes of keys in the result of Window.keys.
const (
	keyBodies  = 1
	keyRetired = 2
)

// Erase implements window.Window. The user's keys are on one node, so one call removes them.
func (w *Window) Erase(ctx context.Context, scope memory.Scope) error {
	return fault.During("erase window", w.client.Del(ctx, w.keys(scope)...).Err())
}

// Reinstate implements window.Window.
func (w *Window) Reinstate(ctx context.Context, scope memory.Scope) error {
	return fault.During("reinstate turns of window", w.scripts.reinstate.Run(ctx, w.client, w.keys(scope)).Err())
}

// Count implements window.Window. It counts the bodies, because they hold the texts. It does not count the order of
// turns.
func (w *Window) Count(ctx context.Context, scope memory.Scope) (window.Counts, error) {
	keys := w.keys(scope)
	pipe := w.client.Pipeline()
	bodies, retired := pipe.HLen(ctx, keys[keyBodies]), pipe.ZCard(ctx, keys[keyRetired])
	if _, err := pipe.Exec(ctx); err != nil {
		return window.Counts{}, fmt.Errorf("count window: %w", err)
	}
	return window.Counts{Turns: int(bodies.Val()), Retired: int(retired.Val())}, nil
}
