package redisstore

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Erasable is a store with data of users. Implementations are idempotent and safe for concurrent use.
type Erasable interface {
	// Erase removes everything that was kept of a user before the erasure. A store that can tell what was kept later leaves that, however
	// often it is asked for the same erasure. An empty id is an erasure of its own each time.
	Erase(ctx context.Context, scope memory.Scope, erasure string) error
	// Count returns how much is left of what Erase removes, and with an empty id how much is kept.
	Count(ctx context.Context, scope memory.Scope, erasure string) (int, error)
}

// eraseTries is how often an erasure reads what there is again, where a request writes in between.
const eraseTries = 10

// EraseListed calls erase until it returns true: it reads the names of what there is, and removes that where nothing was written in
// between.
func EraseListed(ctx context.Context, what string, erase func() (bool, error)) error {
	for range eraseTries {
		if done, err := erase(); err != nil || done {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: requests write in between: %w", what, fault.ErrUnavailable)
}
