package webhooks

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

// ReadHealth reads how endpoints of a tenant have answered.
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

// Turn is a change of how an endpoint answers.
type Turn string

// The turns; NoTurn is none.
const (
	NoTurn   Turn = ""
	Fails    Turn = "fails"
	Recovers Turn = "recovers"
)

// Record keeps how an endpoint answered an attempt, and returns whether it begins to fail or recovers. reason is empty where the attempt
// did
// not fail.
func (s *Store) Record(ctx context.Context, tenant, id, reason string) (Turn, error) {
	out, err := s.Eval(
		ctx,
		"keep how an endpoint answers",
		s.scripts.heard,
		[]string{s.healthKey(tenant, id), s.endpointsKey(tenant)},
		id,
		reason,
	)
	if err != nil {
		return NoTurn, err
	}
	turn, err := out.Text()
	return Turn(turn), err
}
