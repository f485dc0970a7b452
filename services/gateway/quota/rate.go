package quota

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	store "github.com/mneme-memory/mneme/shared/store/quota"
	"github.com/mneme-memory/mneme/shared/store/usage"
)

// Names of quotas for callers.
const (
	quotaRequests       = "requests per second of an API key"
	quotaTenantRequests = "requests per second of a tenant"
	quotaTurns          = "turns per minute of a tenant"
	quotaTokens         = "tokens of models a day of a tenant"
	quotaMemories       = "stored memories of a tenant"
	quotaItems          = "items kept word for word of a tenant"
	quotaStreams        = "concurrent streams of an API key"
	quotaTenantStreams  = "concurrent streams of a tenant"
)

// rate is a limit of a number per period. All of them may come at once.
type rate struct {
	quota string
	store.Rate
}

// full is the free time in µs of an unused limit.
func (r rate) full() int64 { return r.Interval() * int64(r.Limit) }

// need is the free time in µs that n requests need.
func (r rate) need(n int) int64 { return r.Interval() * int64(n) }

// allowance returns the rest of the limit.
func (r rate) allowance(free int64) problem.Allowance {
	return problem.Allowance{
		Limit: r.Limit, Remaining: int(max(0, free/r.Interval())), Reset: time.Duration(r.full()-free) * time.Microsecond,
		Quota: r.quota,
	}
}

// Request implements guard.Limiter. It counts a request against the limits of its API key and of its tenant, in one
// round trip. An accepted request counts as used. A request that one limit refuses takes nothing from the other. If
// the limits are not available, the allowance says so. The error is then a problem if requests need the limits.
func (q *Quota) Request(ctx context.Context, p access.Principal) (problem.Allowance, error) {
	var rates []rate
	if n := q.limits.RequestsPerSecond; n > 0 {
		rates = append(rates, rate{quotaRequests, store.Rate{Name: "requests:" + p.KeyID, Limit: n, Period: time.Second}})
	}
	if n := q.limits.TenantRequestsPerSecond; n > 0 {
		rates = append(rates, rate{quotaTenantRequests, store.Rate{Name: "requests", Limit: n, Period: time.Second}})
	}
	a, err := q.admit(ctx, p, 1, rates)
	if err == nil && a.RetryAfter == 0 {
		q.Count(ctx, p, usage.Requests, 1)
	}
	return a, err
}

// Turns counts n turns against the limit of their tenant before their publication. Its error is a problem. The
// limit may be reached; then the turns take nothing from it. There may be more turns than the limit, which can
// never come at once. The limit of tokens or memories may be reached, because turns use both. Or the limits are not
// available.
func (q *Quota) Turns(ctx context.Context, p access.Principal, n int) error {
	if n <= 0 {
		return nil
	}
	if err := q.tokens(ctx, p); err != nil {
		return err
	}
	if err := q.memories(ctx, p); err != nil || q.limits.TurnsPerMinute == 0 {
		return err
	}
	a, err := q.admit(ctx, p, n,
		[]rate{{quotaTurns, store.Rate{Name: "turns", Limit: q.limits.TurnsPerMinute, Period: time.Minute}}})
	switch {
	case err != nil || a.RetryAfter == 0:
		return err
	case n > a.Limit:
		return problem.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge, Allowance: a,
			Detail: fmt.Sprintf("%d turns at once exceed the limit of %s, want at most %d", n, a.Quota, a.Limit),
		}
	}
	refused := exceeded(problem.CodeRateLimited, a.Quota, a.RetryAfter)
	refused.Allowance = a
	return refused
}

// exceeded is the problem of a call over a limit.
func exceeded(code, quota string, retryAfter time.Duration) problem.Problem {
	return problem.Problem{
		Status: http.StatusTooManyRequests, Code: code, RetryAfter: retryAfter, Detail: "over the limit of " + quota,
	}
}

// admit counts n against all rates. If one rate is reached, it counts n against none. The allowance is from the
// nearest limit.
func (q *Quota) admit(ctx context.Context, p access.Principal, n int, rates []rate) (problem.Allowance, error) {
	if len(rates) == 0 {
		return problem.Allowance{}, nil
	}
	counted := make([]store.Rate, len(rates))
	for i, r := range rates {
		counted[i] = r.Rate
	}
	within, free, err := q.counts.Admit(ctx, p.Tenant.ID, n, counted)
	if err != nil {
		return problem.Allowance{Unavailable: true}, q.counts.without(ctx)
	}
	if within {
		return nearest(rates, free), nil
	}
	a := reached(rates, free, n)
	count(ctx, q.limited, p, a.Quota)
	return a, nil
}

// nearest returns the allowance of the limit with the least remaining.
func nearest(rates []rate, free []int64) problem.Allowance {
	a := rates[0].allowance(free[0])
	for i, r := range rates[1:] {
		if b := r.allowance(free[i+1]); b.Remaining < a.Remaining {
			a = b
		}
	}
	return a
}

// reached is the allowance of the limit that has to be waited for longest until n may come.
func reached(rates []rate, free []int64, n int) problem.Allowance {
	var a problem.Allowance
	for i, r := range rates {
		if wait := time.Duration(r.need(n)-free[i]) * time.Microsecond; wait > a.RetryAfter {
			a = r.allowance(free[i])
			a.RetryAfter = wait
		}
	}
	return a
}
