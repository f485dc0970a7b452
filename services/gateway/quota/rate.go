package quota

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/access"
	store "github.com/mneme-memory/mneme/shared/store/quota"
	"github.com/mneme-memory/mneme/shared/store/usage"
)

// Quotas, as callers are told them.
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

// rate is a limit of so many per period, all of which may come at once.
type rate struct {
	quota string
	store.Rate
}

// full is what is free in µs where nothing has come.
func (r rate) full() int64 { return r.Interval() * int64(r.Limit) }

// need is what has to be free in µs for n to come.
func (r rate) need(n int) int64 { return r.Interval() * int64(n) }

// allowance is what is left of the limit.
func (r rate) allowance(free int64) door.Allowance {
	return door.Allowance{
		Limit: r.Limit, Remaining: int(max(0, free/r.Interval())), Reset: time.Duration(r.full()-free) * time.Microsecond, Quota: r.quota,
	}
}

// Request implements door.Limiter: it counts a request against the limits of its API key and of its tenant, in one round trip, and as used
// where it is let through. A request that one of them refuses takes nothing of the other. Where limits cannot be told, the allowance says
// so, and the error is a problem where requests are not served without them.
func (q *Quota) Request(ctx context.Context, p access.Principal) (door.Allowance, error) {
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

// Turns counts n turns that are about to be put in against the limit of their tenant. Its error is a problem: that the limit is reached,
// which takes nothing of it, that there are more turns than the limit, which can never come at once, that the limit of tokens or
// memories is, which turns would use, or that limits cannot be told.
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
	a, err := q.admit(ctx, p, n, []rate{
		{quotaTurns, store.Rate{Name: "turns", Limit: q.limits.TurnsPerMinute, Period: time.Minute}},
	})
	switch {
	case err != nil || a.RetryAfter == 0:
		return err
	case n > a.Limit:
		return door.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: door.CodeTooLarge, Allowance: a,
			Detail: fmt.Sprintf("%d turns at once are over the limit of %s, want at most %d", n, a.Quota, a.Limit),
		}
	}
	refused := over(door.CodeRateLimited, a.Quota, a.RetryAfter)
	refused.Allowance = a
	return refused
}

// over is the problem of a call over a limit.
func over(code, quota string, retryAfter time.Duration) door.Problem {
	return door.Problem{
		Status: http.StatusTooManyRequests, Code: code, RetryAfter: retryAfter, Detail: "over the limit of " + quota,
	}
}

// admit counts n against all rates or, where one is reached, against none. The allowance is that of the nearest.
func (q *Quota) admit(ctx context.Context, p access.Principal, n int, rates []rate) (door.Allowance, error) {
	if len(rates) == 0 {
		return door.Allowance{}, nil
	}
	counted := make([]store.Rate, len(rates))
	for i, r := range rates {
		counted[i] = r.Rate
	}
	within, free, err := q.counts.Admit(ctx, p.Tenant.ID, n, counted)
	if err != nil {
		return door.Allowance{Unavailable: true}, q.counts.without(ctx)
	}
	if within {
		return nearest(rates, free), nil
	}
	a := reached(rates, free, n)
	count(ctx, q.limited, p, a.Quota)
	return a, nil
}

// nearest is the allowance of the limit of which the least is left.
func nearest(rates []rate, free []int64) door.Allowance {
	a := rates[0].allowance(free[0])
	for i, r := range rates[1:] {
		if b := r.allowance(free[i+1]); b.Remaining < a.Remaining {
			a = b
		}
	}
	return a
}

// reached is the allowance of the limit that has to be waited for longest until n may come.
func reached(rates []rate, free []int64, n int) door.Allowance {
	var a door.Allowance
	for i, r := range rates {
		if wait := time.Duration(r.need(n)-free[i]) * time.Microsecond; wait > a.RetryAfter {
			a = r.allowance(free[i])
			a.RetryAfter = wait
		}
	}
	return a
}
