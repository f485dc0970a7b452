package bus

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// reminder is how often a lasting outage is logged again.
const reminder = 30 * time.Second

// outage logs the beginning and the end of a failure during retries, instead of every attempt. A broker that is
// unavailable for a minute must not fill the log. The zero value is ready.
type outage struct {
	mu     sync.Mutex
	since  time.Time
	logged time.Time
}

func (o *outage) failed(ctx context.Context, log *slog.Logger, what string, attrs ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	if now.Sub(o.logged) < reminder {
		return
	}
	o.logged = now
	log.WarnContext(ctx, what+", retrying", attrs...)
}

func (o *outage) repaired(ctx context.Context, log *slog.Logger, what string, attrs ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	log.InfoContext(ctx, what+", recovered", append(attrs, slog.Duration("after", time.Since(o.since)))...)
	o.since, o.logged = time.Time{}, time.Time{}
}
