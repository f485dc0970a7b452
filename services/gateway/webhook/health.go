package webhook

import (
	"context"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Health is how an endpoint has answered. It is kept beside the endpoint, which only changes by who manages it.
type Health struct {
	// LastSuccess and LastFailure are when attempts were answered with 2xx last, and were not; zero where none was.
	LastSuccess, LastFailure time.Time
	// LastError is why the last that failed did.
	LastError string
	// FailingSince is when the first of the last attempts failed that all did, Failures how many these are; zero where the last did not.
	FailingSince time.Time
	Failures     int
	// Pending is how many deliveries wait for an attempt, their first or another.
	Pending int
}

// healthOf reads what the scripts keep: times in ms.
func healthOf(kept map[string]string) Health {
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(kept[field], 10, 64) // written by us; 0 where it is absent
		return n
	}
	at := func(field string) (t time.Time) {
		if ms := number(field); ms > 0 {
			t = time.UnixMilli(ms).UTC()
		}
		return t
	}
	return Health{
		LastSuccess: at("success"), LastFailure: at("failure"), LastError: kept["error"], FailingSince: at("since"),
		Failures: int(number("failures")), Pending: int(number("pending")),
	}
}

// withHealth has endpoints of a tenant say how they have answered.
func (h *Webhooks) withHealth(ctx context.Context, tenant string, endpoints ...*Endpoint) error {
	kept := make([]*goredis.MapStringStringCmd, len(endpoints))
	err := h.in(ctx, "read how endpoints answer", func(ctx context.Context) error {
		_, err := h.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, e := range endpoints {
				kept[i] = p.HGetAll(ctx, h.healthKey(tenant, e.ID))
			}
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	for i, e := range endpoints {
		e.Health = healthOf(kept[i].Val())
	}
	return nil
}

// heard keeps how an endpoint answered an attempt, and logs where it begins to fail and where it no longer does. reason is empty where it
// did not fail.
func (h *Webhooks) heard(ctx context.Context, tenant string, to Endpoint, reason string) {
	turned := ""
	err := h.in(ctx, "keep how an endpoint answers", func(ctx context.Context) (err error) {
		keys := []string{h.healthKey(tenant, to.ID), h.key(tenant, "endpoints")}
		turned, err = h.scripts.heard.Run(ctx, h.redis, keys, to.ID, reason).Text()
		return err
	})
	about := []any{"tenant", tenant, "endpoint", to.ID, "at", shownURL(to.URL)}
	switch {
	case err != nil:
		h.o.Log.ErrorContext(ctx, "how a webhook answers is not kept", append(about, "error", err)...)
	case turned == "fails":
		h.o.Log.WarnContext(ctx, "a webhook begins to fail", append(about, "reason", reason)...)
	case turned == "recovers":
		h.o.Log.WarnContext(ctx, "a webhook has recovered", about...)
	}
}
