package redisstore

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Erasable is a store with data of users. Implementations are idempotent and safe for concurrent use.
type Erasable interface {
	// Erase removes all data of a user from before the erasure. A store that can identify later data keeps it, however
	// often the same erasure repeats. An empty id is a new erasure each time.
	Erase(ctx context.Context, scope memory.Scope, erasure string) error
	// Count returns the amount of data that Erase would remove. With an empty id it returns the amount of stored data.
	Count(ctx context.Context, scope memory.Scope, erasure string) (int, error)
}

// eraseTries is how often an erasure lists the data again if a request writes in between.
const eraseTries = 10

// EraseListed calls erase until it returns true. erase lists the stored names, and removes them if no write happened
// in between.
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
