package wiring

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/store/usage"
)

// budget decides if a tenant may use models. It compares the tokens of today, counted by all services and replicas.
type budget struct {
	tokens  int64
	counter *usage.Counter
	log     *slog.Logger

	mu      sync.Mutex
	tenants map[string]spent
}

// spent is the last known count of a tenant.
type spent struct {
	over  bool
	at    time.Time
	day   string // the day of the last warning
	found bool
}

const (
	// budgetAge is the maximum age of a cached count. Use in that time may exceed the budget.
	budgetAge = 2 * time.Second
	// budgetTimeout is how long a call waits for Redis.
	budgetTimeout = 250 * time.Millisecond
	// maxBudgets limits the number of tenants in the cache.
	maxBudgets = 10_000
)

func newBudget(tokens int64, counter *usage.Counter, log *slog.Logger) *budget {
	return &budget{tokens: tokens, counter: counter, log: log, tenants: map[string]spent{}}
}

// allows reports whether a tenant has tokens left. It returns true if the count is unavailable, because an outage of
// the counter must not stop the service.
func (b *budget) allows(ctx context.Context, tenant string) bool {
	now := time.Now().UTC()
	b.mu.Lock()
	known := b.tenants[tenant]
	b.mu.Unlock()
	if known.found && now.Sub(known.at) < budgetAge {
		b.refused(ctx, tenant, known.over)
		return !known.over
	}
	within, cancel := context.WithTimeout(ctx, budgetTimeout)
	defer cancel()
	used, err := b.counter.Today(within, tenant, usage.Tokens)
	if err != nil {
		return true
	}
	known.found, known.over, known.at = true, used >= b.tokens, now
	if today := now.Format(time.DateOnly); known.over && known.day != today {
		known.day = today
		b.log.WarnContext(ctx, "a tenant's budget of model tokens is used up: the embedded policy decides until tomorrow",
			"tenant", tenant, "used", used, "budget", b.tokens)
	}
	b.mu.Lock()
	if len(b.tenants) >= maxBudgets {
		clear(b.tenants)
	}
	b.tenants[tenant] = known
	b.mu.Unlock()
	b.refused(ctx, tenant, known.over)
	return !known.over
}

func (b *budget) refused(ctx context.Context, tenant string, over bool) {
	if over {
		b.counter.Count(ctx, tenant, usage.Degraded, 1)
	}
}
