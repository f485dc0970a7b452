package wiring

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/store/usage"
)

// budget says whether tenants may use models, by the tokens that all services and their replicas counted for them today.
type budget struct {
	tokens  int64
	counter *usage.Counter
	log     *slog.Logger

	mu      sync.Mutex
	tenants map[string]spent
}

// spent is what was found lately.
type spent struct {
	over  bool
	at    time.Time
	day   string // of the last complaint
	found bool
}

const (
	// budgetAge is how old what is known of a tenant may be: a budget is exceeded by what is used meanwhile.
	budgetAge = 2 * time.Second
	// budgetTimeout is how long a call waits for Redis.
	budgetTimeout = 250 * time.Millisecond
	// maxBudgets bounds the tenants that something is known of.
	maxBudgets = 10_000
)

func newBudget(tokens int64, counter *usage.Counter, log *slog.Logger) *budget {
	return &budget{tokens: tokens, counter: counter, log: log, tenants: map[string]spent{}}
}

// allows reports whether a tenant has tokens left. Where that cannot be told, it may go on: a budget is no reason to stop when a counter is
// away.
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
