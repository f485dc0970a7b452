package erasure

import (
	"context"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// DeadLettersConfig has the dependencies of a DeadLetterStore.
type DeadLettersConfig struct {
	// Join makes a membership in the group of the replay on the dead letters' topic.
	Join func() (bus.Source, error)
	// Log is the dead letters' topic.
	Log bus.Log
	// Out publishes to it without adding a trace.
	Out         bus.Publisher
	Instruments *bus.Instruments
}

// DeadLetterStore are the dead letters: they hold the records that could not be processed.
type DeadLetterStore struct {
	cfg DeadLettersConfig
	// turn is held while this process erases: members of one group would only get into each other's way.
	turn chan struct{}
}

// NewDeadLetterStore returns the store. It does not close its dependencies.
func NewDeadLetterStore(cfg DeadLettersConfig) *DeadLetterStore {
	return &DeadLetterStore{cfg: cfg, turn: make(chan struct{}, 1)}
}

var _ Store = (*DeadLetterStore)(nil)

// Name implements Store.
func (l *DeadLetterStore) Name() string { return "dead letters" }

// Erase implements Store. A dead letter that was written while the erasure was on its way goes, too.
func (l *DeadLetterStore) Erase(ctx context.Context, r Request) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := bus.EraseDeadLetters(ctx, bus.EraseConfig{Match: matchUser(r.Scope)}, l.cfg.Join, l.cfg.Log, l.cfg.Out,
		l.cfg.Instruments)
	return err
}

// Count implements Store.
func (l *DeadLetterStore) Count(ctx context.Context, r Request) (int, error) {
	n, match := 0, matchUser(r.Scope)
	err := bus.ScanLog(ctx, l.cfg.Log, func(m bus.Message) {
		if match(m.Key, bus.DecodeDeadLetter(m.Value)) {
			n++
		}
	})
	return n, err
}

// matchUser matches the dead letters of a user by their key, or by the record, because the key may be the faulty part.
func matchUser(scope memory.Scope) func(key []byte, record *mnemev1.DeadLetter) bool {
	return func(key []byte, record *mnemev1.DeadLetter) bool {
		return string(key) == scope.Key() || string(record.GetKey()) == scope.Key() ||
			contract.OwnerOf(record.GetValue()) == scope
	}
}
