// Package checkpoint is the port to what a long computation keeps between its steps, so that another process goes on where one ended:
// bytes, by the computation's run and a key. Nothing of users belongs there. Package checkpointtest holds the conformance suite that every
// back-end passes.
package checkpoint

import (
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// ErrAbsent says that nothing is kept under a key: nothing was, it was deleted, or the run's time is over.
var ErrAbsent = errors.New("no checkpoint")

// MaxBytes bounds a body.
const MaxBytes = 64 << 20

// Store is the port. Implementations are safe for concurrent use, and by several processes where the back-end is shared. Slices that are
// passed in are not kept, and those returned are the caller's. Errors that are neither ErrAbsent nor terminal are retryable.
type Store interface {
	// Put keeps a body, all of it or nothing; the same key again replaces it. A whole run is forgotten some time, which the store is made
	// with, after its last Put. A body of more than MaxBytes is a terminal error.
	Put(ctx context.Context, run, key string, body []byte) error
	// Get returns a body, or ErrAbsent.
	Get(ctx context.Context, run, key string) ([]byte, error)
	// Delete forgets keys of a run. It is idempotent.
	Delete(ctx context.Context, run string, keys ...string) error
	// DeleteRun forgets all of a run. It is idempotent.
	DeleteRun(ctx context.Context, run string) error
}

// CheckSize is the terminal error of a body that is too large.
func CheckSize(body []byte) error {
	if len(body) > MaxBytes {
		return fault.Terminal("checkpoint", "has %d bytes, want %d at most", len(body), MaxBytes)
	}
	return nil
}

// CheckTTL checks for how long runs are to be kept: at least a millisecond, which is how exactly back-ends measure.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fault.Terminal("checkpoint.ttl", "is %s, want at least 1ms", ttl)
	}
	return nil
}
