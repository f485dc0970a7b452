package erasure

import (
	"context"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Consumer is a consumer group that reads the events of a user in order, including erasures.
type Consumer struct {
	// Log is the topic that the group reads.
	Log bus.Log
	// Committed returns the offset of the group's next record by partition. It leaves out partitions without a
	// finished record.
	Committed func(context.Context) (map[int]int64, error)
}

// unfinished returns 1 while the group has not finished the record of an erasure. The function is recognizes that
// record among the records of the user's key. behind returns 0 for a group that has never finished a record,
// because that group may not run at all. It also returns 0 if the request has no id.
func (c Consumer) unfinished(ctx context.Context, r Request, is func(bus.Message) bool) (int, error) {
	if r.RequestID == "" {
		return 0, nil
	}
	next, err := c.Committed(ctx)
	if err != nil || len(next) == 0 {
		return 0, err
	}
	found, err := bus.FindFrom(ctx, c.Log, []byte(r.Scope.Key()), next, is)
	if err != nil || !found {
		return 0, err
	}
	return 1, nil
}

// Redis is a store in Redis.
type Redis struct {
	// Label is the name of the counted items, in the plural.
	Label string
	redisstore.Erasable
}

var _ Store = Redis{}

// Name implements Store.
func (s Redis) Name() string { return s.Label }

// Erase implements Store.
func (s Redis) Erase(ctx context.Context, r Request) error {
	return s.Erasable.Erase(ctx, r.Scope, r.RequestID)
}

// Count implements Store.
func (s Redis) Count(ctx context.Context, r Request) (int, error) {
	return s.Erasable.Count(ctx, r.Scope, r.RequestID)
}

// Deliveries are the deliveries of webhooks. Their consumer reads the changes of memory. It drops a user's waiting
// deliveries when it reads the erasure, so the erasure waits for it. If the group has passed the erasure without
// that, or has never run, Deliveries removes them.
type Deliveries struct {
	Consumer
	Kept redisstore.Erasable
}

var _ Store = Deliveries{}

// Name implements Store.
func (Deliveries) Name() string { return "deliveries of webhooks" }

func (d Deliveries) unpassed(ctx context.Context, r Request) (int, error) {
	return d.unfinished(ctx, r, func(m bus.Message) bool {
		c, err := contract.DecodeMemoryChange(m.Key, m.Value)
		return err == nil && c.Operation == memory.OpErase && c.EventID == r.RequestID
	})
}

// Erase implements Store.
func (d Deliveries) Erase(ctx context.Context, r Request) error {
	if n, err := d.unpassed(ctx, r); err != nil || n > 0 {
		return err
	}
	return d.Kept.Erase(ctx, r.Scope, r.RequestID)
}

// Count implements Store. It counts the user's waiting deliveries, and one more while the consumer has not passed
// the erasure.
func (d Deliveries) Count(ctx context.Context, r Request) (int, error) {
	n, err := d.unpassed(ctx, r)
	if err != nil {
		return 0, err
	}
	kept, err := d.Kept.Count(ctx, r.Scope, r.RequestID)
	return n + kept, err
}

// Attribution is the consumer that stores decisions on dropped turns. The bank's erasure removes its earlier
// decisions. But the consumer may be behind, and may write decisions from before the erasure later. It removes
// these itself at the erasure's own event. So this store counts that event until the consumer has passed it.
type Attribution struct{ Consumer }

var _ Store = Attribution{}

// Name implements Store.
func (Attribution) Name() string { return "erasures that attribution has not passed" }

// Erase implements Store: the consumer erases, here it is waited for.
func (Attribution) Erase(context.Context, Request) error { return nil }

// Count implements Store.
func (a Attribution) Count(ctx context.Context, r Request) (int, error) {
	return a.unfinished(ctx, r, func(m bus.Message) bool {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, time.Now())
		return err == nil && !e.ErasedAt.IsZero() && e.EventID == r.RequestID
	})
}

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
