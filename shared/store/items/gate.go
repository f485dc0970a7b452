package items

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// ScansAtOnce is the maximum number of parallel searches per tenant and replica that compare items with a filter or a
// query. They use CPU time that all tenants' calls need.
const ScansAtOnce = 1

// RetrySearch is how long a caller should wait before it repeats a search refused with ErrBusy.
const RetrySearch = 2 * time.Second

// gate limits the parallel scans of a tenant. Others wait in order.
type gate struct {
	wait    time.Duration
	mu      sync.Mutex
	tenants map[string]*turnstile
}

func newGate(wait time.Duration) *gate { return &gate{wait: wait, tenants: map[string]*turnstile{}} }

// turnstile is a tenant's gate. It exists while a scan runs or waits.
type turnstile struct {
	*semaphore.Weighted
	users int
}

// enter waits until a scan of the tenant may run, and returns a function that ends it. Its error is ErrBusy, or the
// error of the caller's ctx.
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
