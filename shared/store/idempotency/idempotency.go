// Package idempotency keeps what became of requests that carry an idempotency key, so that a repeated request is carried out once and
// answered as the first time. Records are in Redis, by tenant, route and key, so that all replicas of the gateway know them.
//
// An answer is sealed with a key that is derived from the caller's API key and the idempotency key, neither of which is kept: answers may
// hold what users said, and nobody who reads Redis learns it.
//
// The package also keeps which turns, sessions and erasures were accepted, see accepted.go.
package idempotency

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:idempotency:"
	DefaultLease   = time.Minute
	DefaultKeep    = 24 * time.Hour
	DefaultTimeout = time.Second
)

// Reasons for which a request is not carried out. Their texts say what is wrong with the key.
var (
	ErrReused   = errors.New("was used before for another request")
	ErrInFlight = errors.New("is of a request that is being carried out")
	ErrErased   = errors.New(
		"is of a request that was carried out before the user was erased, its answer with it; a new request needs a new key",
	)
	ErrForeign = errors.New("is of a request that was carried out for another API key, which alone is shown the answer")
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Lease is how long a request may take. When its replica has died, the request may be repeated after it.
	Lease time.Duration
	// Keep is how long answers, and the ids of what was accepted, are kept.
	Keep time.Duration
	// Timeout bounds each call to Redis.
	Timeout time.Duration
	// Now is the clock for the days of what is kept.
	Now func() time.Time
}

// Store keeps what became of requests. It is safe for concurrent use. Its errors are those of this package, redisstore.ErrErased, or wrap
// fault.ErrUnavailable.
type Store struct {
	redisstore.Space
	o                                         Options
	begin, finish, release, drop, note, erase *goredis.Script
}

// New returns a store over a Redis, which stays the caller's to close. It does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Lease, o.Keep = redisstore.Or(o.Lease, DefaultLease), redisstore.Or(o.Keep, DefaultKeep)
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "answers of requests", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		o: o, begin: goredis.NewScript(beginSource), finish: goredis.NewScript(finishSource), release: goredis.NewScript(releaseSource),
		drop: goredis.NewScript(dropSource), note: goredis.NewScript(noteSource), erase: goredis.NewScript(eraseSource),
	}
}

// Lease returns how long a request may take.
func (s *Store) Lease() time.Duration { return s.o.Lease }

// Scope is where a key counts: the same key in another scope is another key.
type Scope struct {
	// Tenant makes the request.
	Tenant string
	// User is the user that the request is about; an erasure of the user removes the answer. It is empty where the request is about no
	// user. It is part of the route.
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

// Begin asks for the right to carry out a request; body is everything of it that the scope does not say. It returns a claim, or the answer
// where the request was carried out before. It fails with ErrReused where the key came with another body, ErrInFlight while the request
// is being carried out, ErrForeign where another API key made it, and ErrErased where the user was erased since.
func (s *Store) Begin(ctx context.Context, scope Scope, key string, body []byte) (*Stored, *Claim, error) {
	r, err := newRecord(s.Space, scope, key)
	if err != nil {
		return nil, nil, fmt.Errorf("seal an answer: %w", err)
	}
	c := &Claim{store: s, record: r, token: uuid.NewString()}
	keys := []string{r.name}
	if scope.User != "" {
		keys = append(keys, s.dates("answers", memory.Scope{Tenant: scope.Tenant, User: scope.User})[0])
	}
	answer, err := s.run(ctx, "begin a request", s.begin, keys, c.token, r.fingerprint(body), s.o.Lease.Milliseconds(),
		(s.o.Keep + redisstore.Day).Milliseconds())
	if err != nil {
		// Perhaps only the answer was late: then the request, made again, would be refused until the lease is over.
		return nil, nil, errors.Join(err, c.Release(context.WithoutCancel(ctx)))
	}
	switch answer[0] {
	case claimed:
		return nil, c, nil
	case otherBody:
		return nil, nil, ErrReused
	case inFlight:
		return nil, nil, ErrInFlight
	case erased:
		return nil, nil, ErrErased
	}
	stored, err := r.open(answer[1])
	if err != nil {
		return nil, nil, ErrForeign
	}
	return stored, nil, nil
}

// Finish keeps the answer. After an error it is not kept: a repeated request is carried out again once the lease is over.
func (c *Claim) Finish(ctx context.Context, answer Stored) error {
	sealed, err := c.record.seal(answer)
	if err != nil {
		return err
	}
	kept, err := c.store.run(ctx, "keep an answer", c.store.finish, []string{c.record.name}, c.token, sealed, c.store.o.Keep.Milliseconds())
	if err == nil && kept[0] != claimed {
		err = errors.New("keep an answer: the lease is over")
	}
	return err
}

// Release gives the claim back: the request was not carried out, and may be repeated.
func (c *Claim) Release(ctx context.Context) error {
	_, err := c.store.run(ctx, "release a key", c.store.release, []string{c.record.name}, c.token)
	return err
}

// run runs a script that returns texts.
func (s *Store) run(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) ([]string, error) {
	out, err := s.Eval(ctx, what, script, keys, args...)
	if err != nil {
		return nil, err
	}
	return out.StringSlice()
}
