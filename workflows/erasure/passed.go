package erasure

import (
	"context"

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
