package webhooks

import (
	"context"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Health is the history of an endpoint's answers. It is stored separately from the endpoint, which only its managers
// change.
type Health struct {
	// LastSuccess is the time of the last attempt with a 2xx answer, and LastFailure of the last other attempt. They
	// are zero without such an attempt.
	LastSuccess, LastFailure time.Time
	// LastError is the reason of the last failure.
	LastError string
	// FailingSince is the time of the first attempt in the current series of failures, and Failures is their number.
	// They are zero if the last attempt succeeded.
	FailingSince time.Time
	Failures     int
	// Pending is the number of deliveries that wait for an attempt, the first or another.
	Pending int
}

// healthOf parses the data of the scripts. Times are in ms.
func healthOf(kept map[string]string) Health {
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(kept[field], 10, 64) // written by this package; 0 if missing
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

// ReadHealth reads the health of a tenant's endpoints.
func (s *Store) ReadHealth(ctx context.Context, tenant string, endpoints ...*Endpoint) error {
	kept := make([]*goredis.MapStringStringCmd, len(endpoints))
	err := s.Pipelined(ctx, "read how endpoints answer", func(ctx context.Context, p goredis.Pipeliner) {
		for i, e := range endpoints {
			kept[i] = p.HGetAll(ctx, s.healthKey(tenant, e.ID))
		}
	})
	if err != nil {
		return err
	}
	for i, e := range endpoints {
		e.Health = healthOf(kept[i].Val())
	}
	return nil
}

// Turn is a change of an endpoint's health.
type Turn string

// The turns; NoTurn means no change.
const (
	NoTurn   Turn = ""
	Fails    Turn = "fails"
	Recovers Turn = "recovers"
)

// Record stores the result of an attempt, and returns whether the endpoint begins to fail or recovers. reason is
// empty after a success.
func (s *Store) Record(ctx context.Context, tenant, id, reason string) (Turn, error) {
	out, err := s.Eval(ctx, "keep how an endpoint answers", s.scripts.heard,
		[]string{s.healthKey(tenant, id), s.endpointsKey(tenant)}, id, reason)
	if err != nil {
		return NoTurn, err
	}
	turn, err := out.Text()
	return Turn(turn), err
}
