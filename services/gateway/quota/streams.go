package quota

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

const (
	// leaseRenewals is how often a lease is renewed while it lives.
	leaseRenewals = 3
	// streamRetry is the retry delay for clients. The end of a stream is unknown.
	streamRetry = 5 * time.Second
)

// Streams bounds how many streams a tenant and each of its API keys have open, over all replicas. A stream holds a
// lease, which Quota.Run renews, and which ends by itself where the replica dies.
type Streams struct {
	counts  *link
	limits  Limits
	lease   time.Duration
	limited metric.Int64Counter

	mu   sync.Mutex
	held map[*lease]struct{}
}

func newStreams(l *link, limits Limits, o Options, limited metric.Int64Counter) *Streams {
	return &Streams{counts: l, limits: limits, lease: o.Lease, limited: limited, held: map[*lease]struct{}{}}
}

// lease is the lease of an open stream.
type lease struct {
	tenant, id string
	sets       []string

	mu       sync.Mutex // held while it is written
	released bool
}

// Acquire takes a lease for a new stream. Release it after the stream's end. A second release does nothing. The
// error is a problem: a limit is reached, or the limits are not available. If streams are served without limits,
// such a stream counts as soon as the limits are back.
func (s *Streams) Acquire(ctx context.Context, p access.Principal) (release func(), err error) {
	l := &lease{tenant: p.Tenant.ID, id: uuid.NewString()}
	var quotas []string
	var limits []int
	for _, of := range []struct {
		quota, rest string
		limit       int
	}{{quotaStreams, "streams:" + p.KeyID, s.limits.Streams}, {quotaTenantStreams, "streams", s.limits.TenantStreams}} {
		if of.limit > 0 {
			l.sets, quotas, limits = append(l.sets, of.rest), append(quotas, of.quota), append(limits, of.limit)
		}
	}
	if len(l.sets) == 0 {
		return func() {}, nil
	}
	full, err := s.write(ctx, l, limits...)
	if err != nil {
		if err := s.counts.without(ctx); err != nil {
			s.withdraw(ctx, l) // it may have been taken although there was no answer
			return nil, err
		}
	}
	if full > 0 {
		count(ctx, s.limited, p, quotas[full-1])
		return nil, exceeded(problem.CodeRateLimited, quotas[full-1], streamRetry)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[l] = struct{}{}
	return func() { s.release(context.WithoutCancel(ctx), l) }, nil
}

// write takes or renews a lease; full is the number of the limit that is reached, 0 for none.
func (s *Streams) write(ctx context.Context, l *lease, limits ...int) (full int, err error) {
	return s.counts.Lease(ctx, l.tenant, l.id, s.lease, l.sets, limits...)
}

func (s *Streams) release(ctx context.Context, l *lease) {
	s.mu.Lock()
	delete(s.held, l)
	s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released {
		l.released = true
		s.withdraw(ctx, l)
	}
}

// withdraw gives a lease back. Where Redis is away it ends by itself.
func (s *Streams) withdraw(ctx context.Context, l *lease) {
	_ = s.counts.Return(context.WithoutCancel(ctx), l.tenant, l.id, l.sets) // the store logs the error
}

// renew renews all leases that are held.
func (s *Streams) renew(ctx context.Context) {
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	for _, l := range held {
		if err := s.renewOne(ctx, l); err != nil {
			return // the store logs the error; the next attempt is soon
		}
	}
}

func (s *Streams) renewOne(ctx context.Context, l *lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	_, err := s.write(ctx, l)
	return err
}
