// Package webhooks stores, in Redis, the tenants' endpoints for memory changes and the deliveries to them: waiting
// deliveries and dead letters. Deliveries hold ids, and no texts.
package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:webhook:"
	DefaultTimeout = time.Second
)

// Limits.
const (
	// MaxEndpoints is the maximum number of endpoints per tenant.
	MaxEndpoints = 20
	// MaxDead is the maximum number of dead letters per endpoint. The newest are kept.
	MaxDead = 1000
	// KeepDead is how long a dead letter is kept.
	KeepDead = 7 * redisstore.Day
	// keepSeen is how long a delivery counts as started.
	keepSeen = redisstore.Day
)

// Errors of the package. Other errors wrap fault.ErrUnavailable.
var (
	ErrNotFound = errors.New("there is no such webhook")
	ErrNoLetter = errors.New("there is no such dead letter of the webhook")
	ErrMany     = fmt.Errorf("the tenant has %d webhooks, which is the maximum", MaxEndpoints)
	ErrChanged  = errors.New("other calls change the webhook, try again")
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix is the prefix of the keys in Redis.
	Prefix string
	// Timeout is the timeout of each call to Redis.
	Timeout time.Duration
}

// Store keeps endpoints and deliveries. It is safe for concurrent use.
type Store struct {
	redisstore.Space
	scripts scripts
}

// New returns a store over a Redis client. The caller closes the client. New does not wait for Redis.
func New(redis goredis.UniversalClient, o Options) *Store {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "webhooks", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		scripts: newScripts(),
	}
}

func (s *Store) endpointsKey(tenant string) string { return s.Key(tenant, "endpoints") }

func (s *Store) healthKey(tenant, endpoint string) string { return s.Key(tenant, "health:"+endpoint) }

// tenantsKey holds the tenants that have had endpoints.
func (s *Store) tenantsKey() string { return s.Prefix + "tenants" }

// Endpoint is a tenant's receiver of memory changes.
type Endpoint struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Types are the delivered event types. An empty list means all.
	Types []changeevent.Type `json:"types,omitempty"`
	// User limits the events to one user. Empty means all users of the tenant.
	User string `json:"user,omitempty"`
	// Active is false if deliveries are off: they were switched off, or the endpoint has answered 410 (gone).
	Active    bool      `json:"active"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Secret signs deliveries. It is shown once, at its creation. Previous also signs until PreviousUntil.
	Secret        string    `json:"secret,omitempty"`
	Previous      string    `json:"previous,omitempty"`
	PreviousUntil time.Time `json:"previous_until,omitzero"`
	Health        Health    `json:"-"`
}

// Endpoints returns the endpoints of a tenant by id, with secrets and without their health.
func (s *Store) Endpoints(ctx context.Context, tenant string) (map[string]Endpoint, error) {
	raw, err := s.Fields(ctx, "read endpoints", s.endpointsKey(tenant))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Endpoint, len(raw))
	for id, text := range raw {
		var e Endpoint
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, fmt.Errorf("webhooks: read endpoint %s: %w", id, err)
		}
		out[id] = e
	}
	return out, nil
}

// Create stores a new endpoint. It fails with ErrMany if the tenant has too many.
func (s *Store) Create(ctx context.Context, tenant string, e Endpoint) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	err = s.Do(ctx, "note a tenant", func(ctx context.Context) error {
		return s.Redis.SAdd(ctx, s.tenantsKey(), tenant).Err()
	})
	if err != nil {
		return err
	}
	out, err := s.Eval(ctx, "make an endpoint", s.scripts.create, []string{s.endpointsKey(tenant)}, e.ID, body,
		MaxEndpoints)
	if err != nil {
		return err
	}
	if made, _ := out.Int(); made == 0 {
		return ErrMany
	}
	return nil
}

// changes is the number of attempts while other callers change the same endpoint.
const changes = 8

// Change changes an endpoint and returns it with its health. Others may change it at the same time. It fails with
// ErrNotFound, ErrChanged, or the error of change.
func (s *Store) Change(ctx context.Context, tenant, id string, change func(*Endpoint) error) (Endpoint, error) {
	for range changes {
		was, err := s.Field(ctx, "read an endpoint", s.endpointsKey(tenant), id)
		if errors.Is(err, goredis.Nil) {
			err = ErrNotFound
		}
		if err != nil {
			return Endpoint{}, err
		}
		var e Endpoint
		if err := json.Unmarshal([]byte(was), &e); err != nil {
			return Endpoint{}, fmt.Errorf("webhooks: read endpoint: %w", err)
		}
		if err := s.ReadHealth(ctx, tenant, &e); err != nil { // before the change, because a new secret is shown once
			return Endpoint{}, err
		}
		if err := change(&e); err != nil {
			return Endpoint{}, err
		}
		body, err := json.Marshal(e)
		if err != nil {
			return Endpoint{}, err
		}
		out, err := s.Eval(ctx, "change an endpoint", s.scripts.replace, []string{s.endpointsKey(tenant)}, id, was, body)
		if err != nil {
			return Endpoint{}, err
		}
		if replaced, _ := out.Int(); replaced == 1 {
			return e, nil
		}
	}
	return Endpoint{}, ErrChanged
}

// Delete removes an endpoint with its deliveries and dead letters. It fails with ErrNotFound.
func (s *Store) Delete(ctx context.Context, tenant, id string) error {
	removed := int64(0)
	err := s.Do(ctx, "delete an endpoint", func(ctx context.Context) (err error) {
		removed, err = s.Redis.HDel(ctx, s.endpointsKey(tenant), id).Result()
		return err
	})
	if err == nil && removed == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return err
	}
	err = s.each(ctx, s.waitingKey(tenant), func(name, _ string) error {
		if endpointOf(name) != id {
			return nil
		}
		return s.remove(ctx, tenant, []string{name})
	})
	if err != nil {
		return err
	}
	return s.Do(ctx, "delete an endpoint's dead letters", func(ctx context.Context) error {
		return s.Redis.Del(ctx, s.deadKey(tenant, id), s.diedKey(tenant, id), s.healthKey(tenant, id)).Err()
	})
}

// Tenants returns the tenants that have had endpoints.
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	return s.Members(ctx, "list tenants", s.tenantsKey())
}

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
