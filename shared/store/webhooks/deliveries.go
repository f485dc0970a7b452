package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Delivery is an event on its way to an endpoint.
type Delivery struct {
	Event string           `json:"event"`
	Type  changeevent.Type `json:"type"`
	Time  time.Time        `json:"time"`
	Data  json.RawMessage  `json:"data"`
	// User is a hash of the event's user.
	User string `json:"user"`
	// Attempts is the number of attempts so far. Status and Reason describe the last one. The status is 0 without an
	// answer.
	Attempts int       `json:"attempts,omitempty"`
	Status   int       `json:"status,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	DiedAt   time.Time `json:"died_at,omitzero"`
}

func parse(body string) (d Delivery, err error) {
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		return d, fmt.Errorf("webhooks: read a delivery: %w", err)
	}
	return d, nil
}

func (d Delivery) encode() (string, error) {
	body, err := json.Marshal(d)
	return string(body), err
}

// nameOf returns the name of a delivery.
func nameOf(endpoint, eventID string) string { return endpoint + "/" + eventID }

// endpointOf returns the endpoint of a delivery.
func endpointOf(name string) string {
	id, _, _ := strings.Cut(name, "/")
	return id
}

// Waiting deliveries are in a hash, and in a sorted set by their due time. The dead letters of an endpoint are stored
// alike, by their time of death.
func (s *Store) waitingKey(tenant string) string { return s.Key(tenant, "waiting") }

func (s *Store) dueKey(tenant string) string { return s.Key(tenant, "due") }

func (s *Store) deadKey(tenant, endpoint string) string { return s.Key(tenant, "dead:"+endpoint) }

func (s *Store) diedKey(tenant, endpoint string) string { return s.Key(tenant, "died:"+endpoint) }

func (s *Store) seenKey(tenant, name string) string { return s.Key(tenant, "seen:"+name) }

// Enqueue stores a delivery of an event to an endpoint. A repetition within a day is stored once.
func (s *Store) Enqueue(ctx context.Context, endpoint string, e changeevent.Event) error {
	body, err := Delivery{Event: e.ID, Type: e.Type, Time: e.Time, Data: e.Data,
		User: redisstore.Hash(e.Scope.User)}.encode()
	if err != nil {
		return err
	}
	tenant, name := e.Scope.Tenant, nameOf(endpoint, e.ID)
	keys := []string{s.waitingKey(tenant), s.dueKey(tenant), s.seenKey(tenant, name), s.healthKey(tenant, endpoint)}
	_, err = s.Eval(ctx, "keep a delivery", s.scripts.enqueue, keys, name, body, keepSeen.Milliseconds())
	return err
}

// Taken is a delivery taken for an attempt.
type Taken struct {
	// Name and Endpoint name it.
	Name, Endpoint string
	Delivery
	// Damaged marks a delivery that cannot be read.
	Damaged bool
}

// Take leases due deliveries of a tenant: at most most in total, and at most each per endpoint.
func (s *Store) Take(ctx context.Context, tenant string, lease time.Duration, most, each int) ([]Taken, error) {
	out, err := s.Eval(ctx, "take deliveries", s.scripts.take, []string{s.waitingKey(tenant), s.dueKey(tenant)},
		lease.Milliseconds(), most, each)
	if err != nil {
		return nil, err
	}
	pairs, err := out.StringSlice()
	if err != nil {
		return nil, fmt.Errorf("webhooks: take deliveries: %w", err)
	}
	var taken []Taken
	for i := 0; i+1 < len(pairs); i += 2 {
		d, err := parse(pairs[i+1])
		taken = append(taken, Taken{Name: pairs[i], Endpoint: endpointOf(pairs[i]), Delivery: d, Damaged: err != nil})
	}
	return taken, nil
}

// Outcome is the result of an attempt.
type Outcome string

// The outcomes.
const (
	Done  Outcome = "done"
	Again Outcome = "again"
	Dead  Outcome = "dead"
)

// Settle stores the outcome of a delivery. A delivery that was removed in between stays removed. after is the time
// until the next attempt.
func (s *Store) Settle(
	ctx context.Context, tenant, name string, becomes Outcome, d Delivery, after time.Duration,
) error {
	body, err := d.encode()
	if err != nil {
		return err
	}
	if becomes == Dead {
		after = KeepDead
	}
	id := endpointOf(name)
	keys := []string{
		s.waitingKey(tenant), s.dueKey(tenant), s.deadKey(tenant, id), s.diedKey(tenant, id), s.healthKey(tenant, id),
		s.endpointsKey(tenant),
	}
	_, err = s.Eval(ctx, "keep what became of a delivery", s.scripts.settle, keys, name, string(becomes), body,
		after.Milliseconds(), MaxDead, id)
	return err
}

// DeadLetters returns up to limit dead letters of an endpoint from a place on, newest first. more reports whether
// there are others.
func (s *Store) DeadLetters(
	ctx context.Context, tenant, id string, from, limit int,
) (out []Delivery, more bool, err error) {
	var names []string
	var bodies []any
	err = s.Do(ctx, "list dead letters", func(ctx context.Context) (err error) {
		names, err = s.Redis.ZRevRange(ctx, s.diedKey(tenant, id), int64(from), int64(from+limit)).Result()
		if err == nil && len(names) > 0 {
			bodies, err = s.Redis.HMGet(ctx, s.deadKey(tenant, id), names...).Result()
		}
		return err
	})
	for _, body := range bodies[:min(len(bodies), limit)] {
		text, _ := body.(string)
		if d, err := parse(text); err == nil { // a delivery removed in between is omitted
			out = append(out, d)
		}
	}
	return out, len(names) > limit, err
}

// Replay delivers a dead letter again, with as many attempts as a new delivery. It fails with ErrNoLetter, also if an
// erasure removes the letter in between.
func (s *Store) Replay(ctx context.Context, tenant, id, eventID string) error {
	name := nameOf(id, eventID)
	was, err := s.Field(ctx, "read a dead letter", s.deadKey(tenant, id), name)
	if errors.Is(err, goredis.Nil) {
		err = ErrNoLetter
	}
	if err != nil {
		return err
	}
	d, err := parse(was)
	if err != nil {
		return err
	}
	d.Attempts, d.Status, d.Reason, d.DiedAt = 0, 0, "", time.Time{}
	body, err := d.encode()
	if err != nil {
		return err
	}
	keys := []string{s.waitingKey(tenant), s.dueKey(tenant), s.deadKey(tenant, id), s.diedKey(tenant, id),
		s.healthKey(tenant, id)}
	out, err := s.Eval(ctx, "replay a dead letter", s.scripts.replay, keys, name, was, body)
	if err != nil {
		return err
	}
	if moved, _ := out.Int(); moved == 0 {
		return ErrNoLetter
	}
	return nil
}
