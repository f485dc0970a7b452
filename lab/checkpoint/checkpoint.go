// Package checkpoint is the port to the checkpoints of a long computation. Another process can continue from them. A
// checkpoint is bytes, by the computation's run and a key. It holds no users' data. Package checkpointtest holds the
// conformance suite that every back-end passes.
package checkpoint

import (
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// ErrAbsent means that a key has no checkpoint: no Put came, a delete came, or the run has expired.
var ErrAbsent = errors.New("no checkpoint")

// MaxBytes bounds a body.
const MaxBytes = 64 << 20

// Store is the port. Implementations are safe for concurrent use, and by several processes where the back-end is
// shared. A store does not keep the caller's slices, and returned slices belong to the caller. Errors other than
// ErrAbsent and terminal ones are retryable.
type Store interface {
	// Put stores a body, all of it or nothing. The same key again replaces it. A whole run expires after its last
	// Put, by a lifetime that the store is made with. A body of more than MaxBytes is a terminal error.
	Put(ctx context.Context, run, key string, body []byte) error
	// Get returns a body, or ErrAbsent.
	Get(ctx context.Context, run, key string) ([]byte, error)
	// Delete deletes keys of a run. It is idempotent.
	Delete(ctx context.Context, run string, keys ...string) error
	// DeleteRun deletes a whole run. It is idempotent.
	DeleteRun(ctx context.Context, run string) error
}

// CheckSize returns a terminal error for a body that is too large.
func CheckSize(body []byte) error {
	if len(body) > MaxBytes {
		return fault.Terminal("checkpoint", "has %d bytes, want %d at most", len(body), MaxBytes)
	}
	return nil
}

// CheckTTL checks the lifetime of runs: at least a millisecond, the precision of back-ends.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fault.Terminal("checkpoint.ttl", "is %s, want at least 1ms", ttl)
	}
	return nil
}
