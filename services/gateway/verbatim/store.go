// Package verbatim keeps what agent frameworks give it as it came, and gives it back at once: items of JSON by namespace and key, and the
// items of sessions in order. Nothing is extracted from it, and it is no part of a user's memory bank.
//
// It is in Redis. Keys of a tenant are in one slot of a cluster, those of a user and of a session are named by hashes. Scripts take the
// time from Redis, so that clocks of replicas do not matter, and each runs as a whole or not at all.
package verbatim

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:verbatim:"
	DefaultTimeout = 2 * time.Second
	DefaultSweep   = time.Minute
	DefaultWait    = 5 * time.Second
)

// Options are what a Store is run with. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout is how long a call waits for Redis each time that it asks.
	Timeout time.Duration
	// Sweep is how often Run removes what has expired.
	Sweep time.Duration
	// Wait is how long a search waits for others of its tenant until it is refused.
	Wait time.Duration
	// Items bounds the items of a tenant, those of sessions included; 0 is no limit. Over makes the error of what would be more.
	Items int
	Over  func(context.Context) error
	// Log is told what callers are not; nil tells nobody.
	Log *slog.Logger
}

func (o Options) filled() Options {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Sweep <= 0 {
		o.Sweep = DefaultSweep
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store keeps items and sessions. It is safe for concurrent use. Its errors are problems (door.Problem): invalid where an argument is
// over a limit, a conflict where a user or a session has no room left, too large where an answer would be, unavailable where Redis does
// not answer; the cause of the last is logged.
type Store struct {
	redis   goredis.UniversalClient
	o       Options
	scripts scripts
	most    int // MaxScan
	scans   *gate
}

// New makes a store over a Redis, which stays the caller's to close; it does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	o = o.filled()
	return &Store{redis: redis, o: o, scripts: scripts{newItemScripts(), newSessionScripts()}, most: MaxScan, scans: newGate(o.Wait)}
}

// hashed names something in a key.
func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// key is a key of a tenant.
func (s *Store) key(tenant, rest string) string { return s.o.Prefix + "{" + tenant + "}:" + rest }

// tenantsKey holds the tenants that have items which expire.
func (s *Store) tenantsKey() string { return s.o.Prefix + "tenants" }

// countKey holds how many items a tenant has, those of sessions included.
func (s *Store) countKey(tenant string) string { return s.key(tenant, "count") }

// Count returns how many items are kept of a tenant, those of sessions included. One that has expired counts until it is removed.
func (s *Store) Count(ctx context.Context, tenant string) (n int64, err error) {
	err = s.in(ctx, "count", func(ctx context.Context) (err error) {
		if n, err = s.redis.Get(ctx, s.countKey(tenant)).Int64(); errors.Is(err, goredis.Nil) {
			err = nil
		}
		return err
	})
	return n, err
}

// itemKeys are where a user's items are, as scripts take them: when each was updated and when each expires, in µs, what they are, the
// users of the tenant by when something of them expires first, and the number of items of the tenant.
func (s *Store) itemKeys(tenant, userHash string) []string {
	return []string{
		s.key(tenant, "updated:"+userHash), s.key(tenant, "expires:"+userHash), s.key(tenant, "items:"+userHash), s.key(tenant, "due"),
		s.countKey(tenant),
	}
}

// in does something in Redis, in time.
func (s *Store) in(ctx context.Context, what string, do func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	err := do(asking)
	if err == nil {
		return nil
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // nobody is told where the client has gone
		s.o.Log.ErrorContext(ctx, "verbatim: "+what, "error", err)
	}
	return door.Problem{
		Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, RetryAfter: time.Second,
		Detail: "what is kept word for word is not available at the moment",
	}
}

// run runs a script, in time.
func (s *Store) run(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) (*goredis.Cmd, error) {
	var out *goredis.Cmd
	err := s.in(ctx, what, func(ctx context.Context) error {
		out = script.Run(ctx, s.redis, keys, args...)
		return out.Err()
	})
	return out, err
}

// errForm says that what Redis has is not what a store wrote.
var errForm = errors.New("what is kept is in no form that is known")

// unreadable is the problem of what Redis has that no store wrote; err may say more.
func (s *Store) unreadable(ctx context.Context, what string, err error) error {
	return s.in(ctx, what, func(context.Context) error { return errors.Join(errForm, err) })
}

// full is the problem of something that has no room left.
func full(code, detail string) error {
	return door.Problem{Status: http.StatusConflict, Code: code, Detail: detail}
}

// tooLarge is the problem of something that would be too much at once.
func tooLarge(detail string) error {
	return door.Problem{Status: http.StatusRequestEntityTooLarge, Code: door.CodeTooLarge, Detail: detail}
}

// Name says what is counted by Kept.
func (*Store) Name() string { return "verbatim items" }

// Kept counts what is kept of a user: items, those of sessions included, and what calls came to. One that has expired counts until it is
// removed.
func (s *Store) Kept(ctx context.Context, scope memory.Scope) (n int64, err error) {
	user := hashed(scope.User)
	err = s.in(ctx, "count what is kept of a user", func(ctx context.Context) error {
		sessions, err := s.redis.SMembers(ctx, s.key(scope.Tenant, "sessions:"+user)).Result()
		if err != nil {
			return err
		}
		counts, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			p.HLen(ctx, s.key(scope.Tenant, "items:"+user))
			p.ZCard(ctx, s.key(scope.Tenant, "done:"+user))
			for _, name := range sessions {
				p.LLen(ctx, s.key(scope.Tenant, "session:"+user+":"+name))
			}
			return nil
		})
		for _, c := range counts {
			n += c.(*goredis.IntCmd).Val()
		}
		return err
	})
	return n, err
}

// Forget removes all that is kept of a user. What is kept of the user from then on is new.
func (s *Store) Forget(ctx context.Context, scope memory.Scope) error {
	user := hashed(scope.User)
	sessions, done := s.key(scope.Tenant, "sessions:"+user), s.key(scope.Tenant, "done:"+user)
	var ofSessions, ofDone []string
	err := s.in(ctx, "find what is kept of a user", func(ctx context.Context) (err error) {
		if ofSessions, err = s.redis.SMembers(ctx, sessions).Result(); err == nil {
			ofDone, err = s.redis.ZRange(ctx, done, 0, -1).Result()
		}
		return err
	})
	if err != nil {
		return err
	}
	keys, args := append(s.itemKeys(scope.Tenant, user), sessions), []any{user}
	for _, name := range ofSessions { // one that is begun meanwhile stays known
		keys, args = append(keys, s.key(scope.Tenant, "session:"+user+":"+name)), append(args, name)
	}
	if _, err := s.run(ctx, "forget a user", s.scripts.forget, keys, args...); err != nil {
		return err
	}
	return s.in(ctx, "forget the calls of a user", func(ctx context.Context) error {
		_, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, name := range ofDone {
				p.Unlink(ctx, s.key(scope.Tenant, "done:"+user+":"+name))
				p.ZRem(ctx, done, name)
			}
			return nil
		})
		return err
	})
}
