package erasure

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
)

// Attribution is the consumer that keeps decisions on dropped turns. The bank's erasure removes what it has written, but it may be
// behind, and write of what came before the erasure until it gets to the erasure's own event, where it removes that itself. So what is
// counted is that event, for as long as the consumer has not passed it.
type Attribution struct{ Consumer }

var _ Store = Attribution{}

// Name implements Store.
func (Attribution) Name() string { return "erasures that attribution has not passed" }

// Erase implements Store: the consumer erases, here it is waited for.
func (Attribution) Erase(context.Context, Request) error { return nil }

// Count implements Store.
func (a Attribution) Count(ctx context.Context, r Request) (int, error) {
	return a.behind(ctx, r, func(m bus.Message) bool {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, time.Now())
		return err == nil && !e.ErasedAt.IsZero() && e.EventID == r.RequestID
	})
}
