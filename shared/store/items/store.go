// Package items stores data of agent frameworks unchanged, and returns it at once. It stores JSON items by
// namespace and key, and the items of sessions in order. Nothing is extracted from it, and it is not part of a user's
// memory bank.
//
// The data is in Redis. Keys of a tenant are in one slot of a cluster. Names of users and sessions are hashed.
// Scripts use the time of Redis, so the clocks of replicas do not matter. Each script runs as a whole or not at all.
package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:verbatim:"
	DefaultTimeout = 2 * time.Second
	DefaultSweep   = time.Minute
	DefaultWait    = 5 * time.Second
)

// Exceeded limits of a call.
var (
	ErrManyItems    = errors.New("there are too many items")
	ErrManySessions = errors.New("there are too many sessions")
	// ErrQuota means that Options.Items is reached.
	ErrQuota    = errors.New("the tenant has too many items")
	ErrTooLarge = errors.New("that is too large")
	// ErrBusy means that the caller should retry after RetrySearch.
	ErrBusy = errors.New("too many searches of the tenant wait")
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix is the prefix of the keys in Redis.
	Prefix string
	// Timeout is the timeout of each call to Redis.
	Timeout time.Duration
	// Sweep is the interval at which Run removes expired items.
	Sweep time.Duration
	// Wait is how long a search waits for other searches of its tenant before it is refused.
	Wait time.Duration
	// Items is the maximum number of items per tenant, including items in sessions; 0 means no limit.
	Items int
	// Log receives Run's failures to remove items; nil turns it off.
	Log *slog.Logger
}

// Store keeps items and sessions. It is safe for concurrent use. An argument over a limit is a terminal error with
// the field. Other errors are the errors of this package, or wrap fault.ErrUnavailable. The error is
// redisstore.ErrErased if the user was erased after the request began.
type Store struct {
	redisstore.Space
	o       Options
	scripts scripts
	most    int // MaxScan
	scans   *gate
}

// New returns a store over a Redis client. The caller closes the client. New does not wait for Redis.
func New(redis goredis.UniversalClient, o Options) *Store {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Sweep, o.Wait = redisstore.Or(o.Sweep, DefaultSweep), redisstore.Or(o.Wait, DefaultWait)
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "verbatim items", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		o: o, scripts: scripts{newItemScripts(), newSessionScripts()}, most: MaxScan, scans: newGate(o.Wait),
	}
}

// tenantsKey holds the tenants with items that expire.
func (s *Store) tenantsKey() string { return s.Prefix + "tenants" }

// countKey holds the number of items of a tenant, including items in sessions.
func (s *Store) countKey(tenant string) string { return s.Key(tenant, "count") }

// OfTenant returns the number of stored items of a tenant, including items in sessions. An expired item counts until
// its removal.
func (s *Store) OfTenant(ctx context.Context, tenant string) (n int64, err error) {
	err = s.Do(ctx, "count", func(ctx context.Context) (err error) {
		n, err = s.Redis.Get(ctx, s.countKey(tenant)).Int64()
		return err
	})
	if errors.Is(err, goredis.Nil) {
		return 0, nil
	}
	return n, err
}

// itemKeys returns the keys of a user's items in the order of the scripts. They hold the update and expiry times in
// µs, the values, the tenant's users by their first expiry, and the number of the tenant's items.
func (s *Store) itemKeys(tenant, userHash string) []string {
	return []string{
		s.Key(tenant, "updated:"+userHash), s.Key(tenant, "expires:"+userHash), s.Key(tenant, "items:"+userHash),
		s.Key(tenant, "due"),
		s.countKey(tenant),
	}
}

// errForm means that the data in Redis has an unknown form.
var errForm = errors.New("the stored data has no known form")

// unreadable returns the error for data in an unknown form. err may have details.
func unreadable(what string, err error) error {
	return fmt.Errorf("verbatim items: %s: %w", what, errors.Join(errForm, err))
}

var _ redisstore.Erasable = (*Store)(nil)

// sessionKey holds the items of a session, and doneKey holds the result of a call. Both names contain hashes.
func (s *Store) sessionKey(scope memory.Scope, name string) string {
	return s.UserKey(scope, "session") + ":" + name
}

func (s *Store) doneKey(scope memory.Scope, name string) string {
	return s.UserKey(scope, "done") + ":" + name
}

// Count implements redisstore.Erasable. It counts items, including those in sessions, and results of calls. An
// expired item counts until its removal.
func (s *Store) Count(ctx context.Context, scope memory.Scope, erasure string) (int, error) {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return 0, err
	}
	sessions, err := s.sessions(ctx, scope)
	if err != nil {
		return 0, err
	}
	var counts []*goredis.IntCmd
	err = s.Pipelined(ctx, "count the items of a user", func(ctx context.Context, p goredis.Pipeliner) {
		counts = []*goredis.IntCmd{p.HLen(ctx, s.UserKey(scope, "items")), p.ZCard(ctx, s.UserKey(scope, "done"))}
		for _, name := range sessions {
			counts = append(counts, p.LLen(ctx, s.sessionKey(scope, name)))
		}
	})
	n := 0
	for _, c := range counts {
		n += int(c.Val())
	}
	return n, err
}

func (s *Store) sessions(ctx context.Context, scope memory.Scope) ([]string, error) {
	return s.Members(ctx, "list sessions", s.UserKey(scope, "sessions"))
}

// Erase implements redisstore.Erasable.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, erasure string) error {
	return redisstore.EraseListed(ctx, s.Name, func() (bool, error) { return s.eraseListed(ctx, scope, erasure) })
}

// eraseListed lists the stored data and removes it. It returns false if a write happened in between.
func (s *Store) eraseListed(ctx context.Context, scope memory.Scope, erasure string) (bool, error) {
	sessions, err := s.sessions(ctx, scope)
	if err != nil {
		return false, err
	}
	var calls []string
	err = s.Do(ctx, "list calls", func(ctx context.Context) (err error) {
		calls, err = s.Redis.ZRange(ctx, s.UserKey(scope, "done"), 0, -1).Result()
		return err
	})
	if err != nil {
		return false, err
	}
	user := redisstore.Hash(scope.User)
	keys := append(s.itemKeys(scope.Tenant, user), s.UserKey(scope, "sessions"), s.UserKey(scope, "done"),
		s.FenceKey(scope))
	args := []any{user, redisstore.FenceField(erasure), redisstore.KeepFenceMs(), len(sessions), len(calls)}
	for _, name := range sessions {
		keys, args = append(keys, s.sessionKey(scope, name)), append(args, name)
	}
	for _, name := range calls {
		keys, args = append(keys, s.doneKey(scope, name)), append(args, name)
	}
	out, err := s.Eval(ctx, "erase a user", s.scripts.erase, keys, args...)
	if err != nil {
		return false, err
	}
	n, err := out.Int()
	return n == 1, err
}
