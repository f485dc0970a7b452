package keys

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
)

const (
	// usedEvery is how exactly it is kept when a key was used.
	usedEvery = time.Minute
	// maxUses bounds the uses that wait for storage, and the keys with a noted use. Uses beyond it are dropped.
	maxUses = 1 << 12
	// touchTimeout is how long keeping one may take.
	touchTimeout = 2 * time.Second
)

// uses keeps when keys are used, at most once a minute each. No call waits for it.
type uses struct {
	directory directory.Keys
	log       *slog.Logger
	queue     chan use

	mu    sync.Mutex
	noted map[access.Hash]time.Time // the last use of a key that was put into the queue
}

type use struct {
	key access.Key
	at  time.Time
}

func newUses(d directory.Keys, log *slog.Logger) *uses {
	return &uses{directory: d, log: log, queue: make(chan use, maxUses), noted: map[access.Hash]time.Time{}}
}

// note takes a use of a key.
func (u *uses) note(k access.Key, at time.Time) {
	if at.Sub(k.LastUsedAt) < usedEvery { // by any gateway
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.noted[k.Hash]; ok && at.Sub(last) < usedEvery || !u.room(at) {
		return
	}
	select {
	case u.queue <- use{k, at}:
		u.noted[k.Hash] = at
	default: // there will be another use
	}
}

// room reports whether one more key can be noted.
func (u *uses) room(at time.Time) bool {
	if len(u.noted) < maxUses {
		return true
	}
	for h, last := range u.noted {
		if at.Sub(last) >= usedEvery {
			delete(u.noted, h)
		}
	}
	return len(u.noted) < maxUses
}

func (u *uses) run(ctx context.Context) error {
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case one := <-u.queue:
			err := u.record(ctx, one)
			if err != nil && !failing && ctx.Err() == nil {
				u.log.WarnContext(ctx, "cannot store the last use of keys", "error", err)
			}
			failing = err != nil
		}
	}
}

// record keeps one use. One that cannot be kept may be noted again.
func (u *uses) record(ctx context.Context, one use) error {
	ctx, cancel := context.WithTimeout(ctx, touchTimeout)
	defer cancel()
	err := u.directory.Touch(ctx, one.key.Tenant, one.key.ID, one.at)
	if err == nil || errors.Is(err, directory.ErrNotFound) { // revoked in between
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.noted, one.key.Hash)
	return err
}
