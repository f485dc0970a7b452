// Package quota limits the use of the gateway by tenants and their API keys, and counts usage. All state is in
// Redis, so all replicas of the gateway count together. Requests and turns use the generic cell rate algorithm.
// Streams use leases that end with their replica. Usage is counted by day.
//
// Two quantities do not pass the gateway. Other services use the tokens of models, and memories form later. When a
// tenant reaches the limit of one of them, the gateway refuses calls that would use more of it. Calls on their way
// still finish.
package quota

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	store "github.com/mneme-memory/mneme/shared/store/quota"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/usage"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Defaults of Options.
const (
	DefaultLease = 30 * time.Second
	DefaultFlush = time.Second
)

// attrQuota is the attribute of the quota that was reached.
const attrQuota = attribute.Key("mneme.quota")

// Options are the settings of a Quota. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout is how long a call waits for Redis. It holds where the client heeds contexts (ContextTimeoutEnabled).
	Timeout time.Duration
	// Pause is the wait after a failed call to Redis before the next call.
	Pause time.Duration
	// Lease is how long a stream counts after the replica that serves it has died.
	Lease time.Duration
	// Flush is how often usage is written.
	Flush time.Duration
	// Now is the clock for pauses and days. The limits use the clock of Redis.
	Now func() time.Time
	// Meter makes the metrics; nil makes none.
	Meter metric.Meter
	// Log receives the changes between Redis away and Redis back. nil means no log.
	Log *slog.Logger
}

func (o Options) filled() Options {
	o.Lease, o.Flush = redisstore.Or(o.Lease, DefaultLease), redisstore.Or(o.Flush, DefaultFlush)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Meter == nil {
		o.Meter = telemetry.Discard().Meter.Meter("")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Quota holds limits and usage. It is safe for concurrent use. Run must run at the same time.
type Quota struct {
	// Streams bounds concurrent streams.
	Streams *Streams
	// Stored returns the number of a tenant's stored memories, without old versions and deleted memories. Set it
	// before the first use of the Quota.
	Stored func(ctx context.Context, t tenant.Tenant) (int64, error)
	// Kept says how many items are kept word for word of a tenant. It is set before the Quota is used.
	Kept func(ctx context.Context, tenantID string) (int64, error)

	limits  Limits
	counts  *link
	now     func() time.Time
	log     *slog.Logger
	usage   *usage.Counter
	limited metric.Int64Counter
}

var _ guard.Limiter = (*Quota)(nil)

// New makes a Quota over a Redis, which stays the caller's to close. It does not wait for it. Its error says that a
// metric cannot be made.
func New(redis goredis.UniversalClient, limits Limits, o Options) (*Quota, error) {
	o = o.filled()
	limited, err1 := telemetry.MetricLimited.Counter(o.Meter)
	unchecked, err2 := telemetry.MetricLimitsUnavailable.Counter(o.Meter)
	timeout := redisstore.Or(o.Timeout, store.DefaultTimeout)
	counter, err3 := usage.New(redis, usage.Options{Timeout: timeout, Flush: o.Flush, Now: o.Now, Meter: o.Meter,
		Log: o.Log})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	counts := &link{unchecked: unchecked, fail: limits.Fail, Store: store.New(redis, store.Options{
		Prefix: o.Prefix, Timeout: timeout, Pause: o.Pause, Now: o.Now, Log: o.Log.With("calls", served(limits.Fail)),
	})}
	return &Quota{
		Streams: newStreams(counts, limits, o, limited), limits: limits, counts: counts, now: o.Now, log: o.Log,
		usage: counter, limited: limited,
	}, nil
}

// Run writes usage and renews the leases of streams until ctx ends. Then it writes the remaining usage. It returns
// nil.
func (q *Quota) Run(ctx context.Context) error {
	var counting sync.WaitGroup
	counting.Go(func() { _ = q.usage.Run(ctx) }) // it returns nil
	defer counting.Wait()
	renew := time.NewTicker(q.Streams.lease / leaseRenewals)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-renew.C:
			q.Streams.renew(ctx)
		}
	}
}

// link is the counts in Redis, and the handling of calls while the counts are not available.
type link struct {
	*store.Store
	unchecked metric.Int64Counter
	fail      string
}

func served(fail string) string {
	if fail == FailClosed {
		return "refused"
	}
	return "served"
}

// without handles a call while its limits are not available. It returns nil to serve the call all the same, else a
// problem.
func (l *link) without(ctx context.Context) error {
	l.unchecked.Add(ctx, 1, metric.WithAttributes(telemetry.AttrOutcome.String(served(l.fail))))
	if l.fail != FailClosed {
		return nil
	}
	return problem.Unavailable("the gateway cannot check limits at the moment, try again", time.Second)
}

// count counts a call that was refused over a quota.
func count(ctx context.Context, c metric.Int64Counter, p access.Principal, quota string) {
	c.Add(ctx, 1, metric.WithAttributes(telemetry.AttrTenant.String(p.Tenant.ID), attrQuota.String(quota)))
}
