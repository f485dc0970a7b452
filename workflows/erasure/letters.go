package erasure

import (
	"context"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// LettersConfig is what Letters work with.
type LettersConfig struct {
	// Join makes a membership in the group of the replay on the letters' topic.
	Join func() (bus.Source, error)
	// Log is the letters' topic.
	Log bus.Log
	// Out publishes to it without adding a trace.
	Out         bus.Publisher
	Instruments *bus.Instruments
}

// Letters are the dead letters: they hold the records that could not be processed.
type Letters struct {
	cfg LettersConfig
	// turn is held while this process erases: members of one group would only get into each other's way.
	turn chan struct{}
}

// NewLetters returns the store. It does not close what it is given.
func NewLetters(cfg LettersConfig) *Letters { return &Letters{cfg: cfg, turn: make(chan struct{}, 1)} }

var _ Store = (*Letters)(nil)

// Name implements Store.
func (l *Letters) Name() string { return "dead letters" }

// Erase implements Store. A letter that was written while the erasure was on its way goes, too.
func (l *Letters) Erase(ctx context.Context, r Request) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := bus.EraseLetters(ctx, bus.EraseConfig{Match: of(r.Scope)}, l.cfg.Join, l.cfg.Log, l.cfg.Out, l.cfg.Instruments)
	return err
}

// Count implements Store.
func (l *Letters) Count(ctx context.Context, r Request) (int, error) {
	n, match := 0, of(r.Scope)
	err := bus.ScanLog(ctx, l.cfg.Log, func(m bus.Message) {
		if match(m.Key, bus.DecodeLetter(m.Value)) {
			n++
		}
	})
	return n, err
}

// of matches the letters of a user: by their key, or, as the key may be what was wrong, by what the record itself says.
func of(scope memory.Scope) func(key []byte, letter *mnemev1.DeadLetter) bool {
	return func(key []byte, letter *mnemev1.DeadLetter) bool {
		return string(key) == scope.Key() || string(letter.GetKey()) == scope.Key() || contract.OwnerOf(letter.GetValue()) == scope
	}
}
