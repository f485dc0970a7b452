// Package webhook tells programs of tenants of changes of memory, at URLs that they name, after the Standard Webhooks specification: a POST
// of JSON with type, timestamp and data, signed, with an id that is the same for every attempt. What is told holds ids, and no texts.
//
// Handle takes changes from Kafka and keeps a delivery for each endpoint in Redis; only then is the change acknowledged. Run, in any number
// of replicas, takes deliveries that are due for a while (a lease), and makes an attempt. A delivery that fails is tried again, later each
// time, and is a dead letter of its endpoint after the last attempt. A program may be told twice of a change, and changes may come in
// another order than they happened.
package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/event"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:webhook:"
	DefaultTimeout = time.Second
	DefaultPoll    = time.Second
	DefaultAttempt = 10 * time.Second
)

// Limits.
const (
	// MaxEndpoints is how many endpoints a tenant may have.
	MaxEndpoints = 20
	// MaxDead is how many dead letters of an endpoint are kept, the newest.
	MaxDead = 1000
	// keepDead is how long a dead letter is kept.
	keepDead = 7 * 24 * time.Hour
	// keepSeen is how long it is known that a delivery was begun.
	keepSeen = 24 * time.Hour
	// atOnce is how many attempts a replica makes at the same time, and perEndpoint to one endpoint.
	atOnce, perEndpoint = 64, 4
	// idleConnections is how long a connection is kept for another attempt.
	idleConnections = 30 * time.Second
)

// backoff is how long after each failed attempt the next is made, as the specification proposes.
var backoff = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Options are what webhooks are run with. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout is how long a call waits for Redis.
	Timeout time.Duration
	// Poll is how often due deliveries are looked for.
	Poll time.Duration
	// Attempt is how long an endpoint may take to answer.
	Attempt time.Duration
	// Backoff is how long after each failed attempt the next is made; after the last of them, a delivery is dead.
	Backoff []time.Duration
	// Private allows addresses that are not public, and HTTP without TLS.
	Private bool
	// Meter makes the metrics; nil makes none.
	Meter metric.Meter
	// Log is told what callers are not; nil tells nobody.
	Log *slog.Logger
}

func (o Options) filled() Options {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Timeout, DefaultTimeout}, {&o.Poll, DefaultPoll}, {&o.Attempt, DefaultAttempt}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if o.Backoff == nil {
		o.Backoff = backoff
	}
	if o.Meter == nil {
		o.Meter = telemetry.Discard().Meter.Meter("")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Webhooks keeps endpoints of tenants, and delivers to them. It is safe for concurrent use. Run has to run somewhere.
type Webhooks struct {
	redis    goredis.UniversalClient
	o        Options
	client   *http.Client
	scripts  scripts
	attempts metric.Int64Counter
	slots    *slots
}

// New makes webhooks over a Redis, which stays the caller's to close; it does not wait for it. Its error says that a metric cannot be made.
func New(redis goredis.UniversalClient, o Options) (*Webhooks, error) {
	o = o.filled()
	attempts, err := telemetry.MetricWebhooks.Counter(o.Meter)
	if err != nil {
		return nil, err
	}
	return &Webhooks{redis: redis, o: o, client: clientOf(o), scripts: newScripts(), attempts: attempts, slots: newSlots()}, nil
}

// key is a key of a tenant. All keys of a tenant are in one slot of a cluster.
func (h *Webhooks) key(tenant, rest string) string { return h.o.Prefix + "{" + tenant + "}:" + rest }

func (h *Webhooks) healthKey(tenant, endpoint string) string {
	return h.key(tenant, "health:"+endpoint)
}

func (h *Webhooks) tenantsKey() string { return h.o.Prefix + "tenants" }

// in does something in Redis, in time. Its error is retryable.
func (h *Webhooks) in(ctx context.Context, what string, do func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, h.o.Timeout)
	defer cancel()
	if err := do(asking); err != nil && !errors.Is(err, goredis.Nil) {
		return fmt.Errorf("webhooks: %s: %w: %w", what, fault.ErrUnavailable, err)
	}
	return nil
}

// told is an error of Redis as clients are told it; others stay as they are.
func (h *Webhooks) told(ctx context.Context, err error) error {
	if !errors.Is(err, fault.ErrUnavailable) {
		return err
	}
	if ctx.Err() == nil {
		h.o.Log.ErrorContext(ctx, "webhooks", "error", err)
	}
	return door.Problem{
		Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, RetryAfter: time.Second,
		Detail: "webhooks are not available at the moment",
	}
}

// hashed names a user in what is kept.
func hashed(user string) string {
	sum := sha256.Sum256([]byte(user))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Name says what is counted by Kept.
func (*Webhooks) Name() string { return "deliveries of webhooks" }

// Kept counts deliveries and dead letters about a user, but for those that tell of an erasure.
func (h *Webhooks) Kept(ctx context.Context, scope memory.Scope) (n int64, err error) {
	err = h.about(ctx, scope, func(_ context.Context, _, _, _ string, d delivery) error {
		if d.Type != event.UserErased {
			n++
		}
		return nil
	})
	return n, h.told(ctx, err)
}

// Forget removes deliveries and dead letters about a user.
func (h *Webhooks) Forget(ctx context.Context, scope memory.Scope) error {
	return h.about(ctx, scope, func(ctx context.Context, hash, set, name string, _ delivery) error {
		if hash == h.key(scope.Tenant, "waiting") { // which is counted
			return h.settle(ctx, scope.Tenant, name, "done", delivery{}, 0)
		}
		return errors.Join(h.redis.HDel(ctx, hash, name).Err(), h.redis.ZRem(ctx, set, name).Err())
	})
}

// about calls do for each delivery and dead letter about a user, with the hash that holds it, the sorted set that holds when, and its name.
func (h *Webhooks) about(
	ctx context.Context, scope memory.Scope, do func(ctx context.Context, hash, set, name string, d delivery) error,
) error {
	endpoints, err := h.endpoints(ctx, scope.Tenant)
	if err != nil {
		return err
	}
	sets := map[string]string{h.key(scope.Tenant, "waiting"): h.key(scope.Tenant, "due")} // by hash
	for id := range endpoints {
		sets[h.key(scope.Tenant, "dead:"+id)] = h.key(scope.Tenant, "died:"+id)
	}
	for hash, set := range sets {
		err := h.in(ctx, "find what is about a user", func(ctx context.Context) error {
			all, err := h.redis.HGetAll(ctx, hash).Result()
			if err != nil {
				return err
			}
			for name, body := range all {
				if d, err := parse(body); err != nil || d.User != hashed(scope.User) {
					continue
				} else if err := do(ctx, hash, set, name, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
