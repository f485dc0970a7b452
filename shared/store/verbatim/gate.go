package verbatim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// ScansAtOnce is how many searches of a tenant read items to hold them against a filter or a query at the same time, in one replica. They
// are work for the processor, which all tenants' calls need.
const ScansAtOnce = 1

// RetrySearch is when a search that was refused with ErrBusy is worth trying again.
const RetrySearch = 2 * time.Second

// gate lets so many scans of a tenant through at once; others wait in order.
type gate struct {
	wait    time.Duration
	mu      sync.Mutex
	tenants map[string]*turnstile
}

func newGate(wait time.Duration) *gate { return &gate{wait: wait, tenants: map[string]*turnstile{}} }

// turnstile is a tenant's gate, there as long as somebody is in it or waits.
type turnstile struct {
	*semaphore.Weighted
	users int
}

// enter waits until a scan of the tenant may run, and returns what ends it. Its error is ErrBusy, or that of a caller who has gone.
func (g *gate) enter(ctx context.Context, tenant string) (leave func(), err error) {
	g.mu.Lock()
	t, ok := g.tenants[tenant]
	if !ok {
		t = &turnstile{Weighted: semaphore.NewWeighted(ScansAtOnce)}
		g.tenants[tenant] = t
	}
	t.users++
	g.mu.Unlock()
	forget := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(g.tenants, tenant)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	if err := t.Acquire(waiting, 1); err != nil {
		forget()
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: send fewer at a time, or give longer namespace prefixes", ErrBusy)
	}
	return func() { t.Release(1); forget() }, nil
}
