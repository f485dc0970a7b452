// Package idempotency lets clients repeat a request that is not idempotent by itself: with the same Idempotency-Key it is carried out once,
// and answered as it was the first time. Records are in Redis, so that all replicas of the gateway know them, by tenant, route and key.
//
// What is kept of an answer is sealed with a key that is made of the caller's API key and the Idempotency-Key, neither of which is kept:
// answers may hold what users said, and nobody who reads Redis learns it. A secret that was just made is not kept at all.
package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Header is the header that carries the key.
const Header = "Idempotency-Key"

// Replayed is the header of an answer that was given before.
const Replayed = "Idempotency-Replayed"

// MaxKey is how long a key may be, in bytes.
const MaxKey = 255

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:idempotency:"
	DefaultLease   = time.Minute
	DefaultKeep    = 24 * time.Hour
	DefaultTimeout = time.Second
)

// retryInFlight is when a client is told to ask again for a request that is being carried out.
const retryInFlight = time.Second

// Options are what a Store is run with. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Lease is how long a request may take: its context ends before, and when its replica has died, the request may be repeated after it.
	Lease time.Duration
	// Keep is how long answers, and what turns were accepted, are known.
	Keep time.Duration
	// Timeout is how long a call waits for Redis.
	Timeout time.Duration
	// Now is the clock for the days of accepted turns.
	Now func() time.Time
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
	}{{&o.Lease, DefaultLease}, {&o.Keep, DefaultKeep}, {&o.Timeout, DefaultTimeout}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store keeps what became of requests. It is safe for concurrent use.
type Store struct {
	redis                        goredis.UniversalClient
	o                            Options
	begin, finish, release, drop *goredis.Script
}

// New makes a store over a Redis, which stays the caller's to close. It does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	return &Store{redis: redis, o: o.filled(), begin: beginScript(), finish: finishScript(), release: releaseScript(), drop: dropScript()}
}

// Scope is where a key counts: the same key in another scope is another key.
type Scope struct {
	// Tenant is whose request it is.
	Tenant string
	// User is whom the request is about, whose erasure takes the answer; empty where it is about no user. It is part of the route.
	User string
	// Route is the method and the path.
	Route string
	// Credential is the caller's API key. It does not tell scopes apart: it seals the answer, which is read with the same one only.
	Credential string
}

// Stored is an answer that was given.
type Stored struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// Claim is the right to carry out a request. It ends with Finish or Release, or with the lease.
type Claim struct {
	store  *Store
	record record
	token  string
}

// Begin asks for the right to carry out a request; body is all of it that the scope does not say. It returns a claim, or the answer where
// the request was carried out before. Its errors are problems: 409 while the request is being carried out, or was by another API key, 422
// where the key came with another body, 503 where that cannot be told, 410 where the user whom it was about was erased since.
func (s *Store) Begin(ctx context.Context, scope Scope, key string, body []byte) (*Stored, *Claim, error) {
	r, err := newRecord(s.o.Prefix, scope, key)
	if err != nil {
		return nil, nil, s.fail(ctx, "seal", err)
	}
	c := &Claim{store: s, record: r, token: uuid.NewString()}
	keys := []string{r.name}
	if scope.User != "" {
		keys = append(keys, s.daySet("answers", memory.Scope{Tenant: scope.Tenant, User: scope.User}, s.o.Now()))
	}
	answer, err := s.run(ctx, s.begin, keys, c.token, r.fingerprint(body), s.o.Lease.Milliseconds(), (s.o.Keep + day).Milliseconds())
	if err != nil {
		// Perhaps only the answer was late: then the request, made again, would be refused until the lease is over.
		return nil, nil, s.fail(ctx, "begin", errors.Join(err, c.Release(context.WithoutCancel(ctx))))
	}
	switch answer[0] {
	case claimed:
		return nil, c, nil
	case otherBody:
		return nil, nil, door.Problem{
			Status: http.StatusUnprocessableEntity, Code: door.CodeKeyReused, Field: Header, Detail: "was used before for another request",
		}
	case inFlight:
		return nil, nil, door.Problem{
			Status: http.StatusConflict, Code: door.CodeKeyInFlight, Field: Header, RetryAfter: retryInFlight,
			Detail: "is of a request that is being carried out",
		}
	case erased:
		return nil, nil, door.Problem{
			Status: http.StatusGone, Code: door.CodeKeyErased, Field: Header,
			Detail: "is of a request that was carried out before the user was erased, its answer with it; a new request needs a new key",
		}
	}
	stored, err := r.open(answer[1])
	if err != nil {
		return nil, nil, door.Problem{
			Status: http.StatusConflict, Code: door.CodeKeyForeign, Field: Header,
			Detail: "is of a request that was carried out for another API key, which alone is shown the answer",
		}
	}
	return stored, nil, nil
}

// Finish keeps the answer. An error says that it is not kept: a repeated request is carried out again once the lease is over.
func (c *Claim) Finish(ctx context.Context, answer Stored) error {
	sealed, err := c.record.seal(answer)
	if err != nil {
		return err
	}
	kept, err := c.store.run(ctx, c.store.finish, []string{c.record.name}, c.token, sealed, c.store.o.Keep.Milliseconds())
	if err == nil && kept[0] != claimed {
		err = errors.New("the lease is over")
	}
	if err != nil {
		return fmt.Errorf("keep the answer: %w", err)
	}
	return nil
}

// Release gives the claim back: the request was not carried out, and may be repeated.
func (c *Claim) Release(ctx context.Context) error {
	if _, err := c.store.run(ctx, c.store.release, []string{c.record.name}, c.token); err != nil {
		return fmt.Errorf("release the key: %w", err)
	}
	return nil
}

// run runs a script about keys of a tenant, in time.
func (s *Store) run(ctx context.Context, script *goredis.Script, keys []string, args ...any) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	return script.Run(ctx, s.redis, keys, args...).StringSlice()
}

// fail logs an error and returns what callers are told of it.
func (s *Store) fail(ctx context.Context, what string, err error) error {
	s.o.Log.ErrorContext(ctx, "idempotency: "+what, "error", err)
	return door.Problem{
		Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, RetryAfter: time.Second,
		Detail: "it cannot be told at the moment whether the request was carried out before",
	}
}
