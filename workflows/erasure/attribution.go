package erasure

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
)

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
