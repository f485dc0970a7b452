package llm

import (
	"context"
	"sync"
)

// fairQueue bounds the requests that run at once, per tenant and in total. A free place goes to the waiting tenant
// with the smallest share, relative to its weight. So a burst of one tenant queues behind that tenant only. The
// queue forgets tenants that neither run nor wait.
type fairQueue struct {
	mu        sync.Mutex
	perTenant int
	total     int
	weights   map[string]int
	running   int
	now       float64 // virtual time: the share of the tenant served last
	tenants   map[string]*tenantQueue
}

type tenantQueue struct {
	running int
	share   float64 // places used, divided by weight
	weight  float64
	waiting []chan struct{}
}

func newFairQueue(perTenant, total int, weights map[string]int) *fairQueue {
	return &fairQueue{perTenant: perTenant, total: total, weights: weights, tenants: map[string]*tenantQueue{}}
}

// enter waits for a place and returns a function that gives it back. A nil queue has a place for every caller.
func (g *fairQueue) enter(ctx context.Context, tenant string) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	g.mu.Lock()
	q := g.queue(tenant)
	turn := make(chan struct{})
	if len(q.waiting) == 0 {
		q.share = max(q.share, g.now) // time without competition earns no credit
	}
	q.waiting = append(q.waiting, turn)
	g.admit()
	g.mu.Unlock()

	leave = func() { g.remove(tenant) }
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
	}
	if g.withdraw(tenant, turn) {
		return nil, context.Cause(ctx)
	}
	leave() // the place came at the same moment, but the caller has stopped waiting
	return nil, context.Cause(ctx)
}

// queue returns the tenant's queue. A new tenant starts at the present share: it has no debt and no credit.
func (g *fairQueue) queue(tenant string) *tenantQueue {
	q, ok := g.tenants[tenant]
	if !ok {
		q = &tenantQueue{weight: float64(max(1, g.weights[tenant])), share: g.now}
		g.tenants[tenant] = q
	}
	return q
}

// admit hands out free places.
func (g *fairQueue) admit() {
	for g.running < g.total {
		q := g.next()
		if q == nil {
			return
		}
		turn := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.running++
		g.running++
		g.now = q.share
		q.share += 1 / q.weight
		close(turn)
	}
}

// next is the queue to serve: the one with the smallest share. The order among equals does not matter.
func (g *fairQueue) next() *tenantQueue {
	var best *tenantQueue
	for _, q := range g.tenants {
		if len(q.waiting) == 0 || q.running >= g.perTenant {
			continue
		}
		if best == nil || q.share < best.share {
			best = q
		}
	}
	return best
}

func (g *fairQueue) remove(tenant string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.tenants[tenant]
	q.running--
	g.running--
	g.forget(tenant, q)
	g.admit()
}

// withdraw takes a waiting caller out of the queue. It returns false for an admitted caller.
func (g *fairQueue) withdraw(tenant string, turn chan struct{}) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.tenants[tenant]
	if q == nil {
		return false
	}
	for i, w := range q.waiting {
		if w == turn {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			g.forget(tenant, q)
			return true
		}
	}
	return false
}

func (g *fairQueue) forget(tenant string, q *tenantQueue) {
	if q.running == 0 && len(q.waiting) == 0 {
		delete(g.tenants, tenant)
	}
}
