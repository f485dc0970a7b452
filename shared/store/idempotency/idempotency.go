// Package idempotency keeps the results of requests with an idempotency key. A repeated request is carried out once
// and gets the first answer. Records are in Redis, by tenant, route and key, so that all replicas of the gateway
// share them.
//
// An answer is sealed with a key derived from the caller's API key and the idempotency key. Neither of them is
// stored. Answers may hold users' texts, and a reader of Redis cannot read them.
//
// The package also keeps the ids of accepted turns, sessions and erasures, see accepted.go.
package idempotency

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// Reasons to refuse a request. Their texts describe the problem with the key.
var (
	ErrReused   = errors.New("belongs to another request")
	ErrInFlight = errors.New("belongs to a request that is still running")
	ErrErased   = errors.New(
		"belongs to a request from before the erasure of the user, which also erased the answer: use a new key for a " +
			"new request",
	)
	ErrForeign = errors.New("belongs to a request of another API key, and only that key gets the answer")
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix is the prefix of the keys in Redis.
	Prefix string
	// Lease is the maximum duration of a request. If its replica dies, the request may be repeated after that time.
	Lease time.Duration
	// Keep is how long answers and the ids of accepted objects are stored.
	Keep time.Duration
	// Timeout is the timeout of each call to Redis.
	Timeout time.Duration
	// Now is the clock for the days of stored data.
	Now func() time.Time
}

// Store keeps the results of requests. It is safe for concurrent use. Its errors are the errors of this package,
// redisstore.ErrErased, or wrap fault.ErrUnavailable.
type Store struct {
	redisstore.Space
	o                                         Options
	begin, finish, release, drop, note, erase *goredis.Script
}

// New returns a store over a Redis client. The caller closes the client. New does not wait for Redis.
func New(redis goredis.UniversalClient, o Options) *Store {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Lease, o.Keep = redisstore.Or(o.Lease, DefaultLease), redisstore.Or(o.Keep, DefaultKeep)
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "answers of requests", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		o: o, begin: goredis.NewScript(beginSource), finish: goredis.NewScript(finishSource),
		release: goredis.NewScript(releaseSource),
		drop:    goredis.NewScript(dropSource), note: goredis.NewScript(noteSource), erase: goredis.NewScript(eraseSource),
	}
}

// Lease returns the maximum duration of a request.
func (s *Store) Lease() time.Duration { return s.o.Lease }

// Scope is the validity of a key: the same key in another scope is another key.
type Scope struct {
	// Tenant is the caller's tenant.
	Tenant string
	// User is the user of the request. An erasure of the user removes the answer. It is empty for a request without a
	// user. It is part of the route.
	User string
	// Route is the method and the path.
	Route string
	// Credential is the caller's API key. It does not distinguish scopes. It seals the answer, and only the same
	// credential can read it.
	Credential string
}

// Stored is a stored answer.
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

// Begin requests the right to carry out a request. body is all of the request outside the scope. It returns a claim,
// or the answer if the request was carried out before. It fails with ErrReused if the key came with another body, and
// with ErrInFlight while the request is running. It fails with ErrForeign if another API key made the request, and
// with ErrErased if the user was erased since.
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
		// The answer may only be late. Without a release, a repetition would be refused until the lease ends.
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

// Finish stores the answer. After an error it is not stored: a repeated request is carried out again after the lease.
func (c *Claim) Finish(ctx context.Context, answer Stored) error {
	sealed, err := c.record.seal(answer)
	if err != nil {
		return err
	}
	kept, err := c.store.run(ctx, "keep an answer", c.store.finish, []string{c.record.name}, c.token, sealed,
		c.store.o.Keep.Milliseconds())
	if err == nil && kept[0] != claimed {
		err = errors.New("store an answer: the lease has expired")
	}
	return err
}

// Release returns the claim: the request was not carried out, and may be repeated.
func (c *Claim) Release(ctx context.Context) error {
	_, err := c.store.run(ctx, "release a key", c.store.release, []string{c.record.name}, c.token)
	return err
}

// run runs a script that returns texts.
func (s *Store) run(
	ctx context.Context, what string, script *goredis.Script, keys []string, args ...any,
) ([]string, error) {
	out, err := s.Eval(ctx, what, script, keys, args...)
	if err != nil {
		return nil, err
	}
	return out.StringSlice()
}

// keyBytes is the length of the sealing keys, in bytes.
const keyBytes = 32

// record is the place and the form of a stored request.
type record struct {
	name     string // in Redis
	requests []byte // the key of the requests' fingerprints
	seals    cipher.AEAD
}

// newRecord derives a record from a scope and a key. The record reveals neither.
func newRecord(space redisstore.Space, scope Scope, key string) (record, error) {
	where := redisstore.Digest(scope.Tenant, scope.Route, key)
	r := record{name: space.Key(scope.Tenant, "request:"+base64.RawURLEncoding.EncodeToString(where))}
	secret := redisstore.Digest(scope.Credential, key)
	sealing, err := hkdf.Key(sha256.New, secret, where, "answer", keyBytes)
	if err != nil {
		return r, err
	}
	if r.requests, err = hkdf.Key(sha256.New, redisstore.Digest(key), where, "request", keyBytes); err != nil {
		return r, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return r, err
	}
	r.seals, err = cipher.NewGCMWithRandomNonce(block)
	return r, err
}

// fingerprint distinguishes requests. Without the key, it does not reveal the request.
func (r record) fingerprint(body []byte) string {
	h := hmac.New(sha256.New, r.requests)
	h.Write(body)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (r record) seal(answer Stored) (string, error) {
	plain, err := json.Marshal(answer)
	if err != nil {
		return "", fmt.Errorf("encode the answer: %w", err)
	}
	return string(r.seals.Seal(nil, nil, plain, []byte(r.name))), nil
}

func (r record) open(sealed string) (*Stored, error) {
	plain, err := r.seals.Open(nil, nil, []byte(sealed), []byte(r.name))
	if err != nil {
		return nil, err
	}
	var out Stored
	if err := json.Unmarshal(plain, &out); err != nil {
		return nil, errors.New("the answer cannot be decoded")
	}
	return &out, nil
}
