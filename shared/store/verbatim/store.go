// Package verbatim keeps what agent frameworks give it as it came, and gives it back at once: items of JSON by namespace and key, and the
// items of sessions in order. Nothing is extracted from it, and it is no part of a user's memory bank.
//
// It is in Redis. Keys of a tenant are in one slot of a cluster, those of a user and of a session are named by hashes. Scripts take the
// time from Redis, so that clocks of replicas do not matter, and each runs as a whole or not at all.
package verbatim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:verbatim:"
	DefaultTimeout = 2 * time.Second
	DefaultSweep   = time.Minute
	DefaultWait    = 5 * time.Second
)

// Limits that a call is over.
var (
	ErrManyItems    = errors.New("there are too many items")
	ErrManySessions = errors.New("there are too many sessions")
	// ErrQuota is that of Options.Items.
	ErrQuota    = errors.New("the tenant has too many items")
	ErrTooLarge = errors.New("that is too large")
	// ErrBusy says that it is worth trying again after RetrySearch.
	ErrBusy = errors.New("too many searches of the tenant wait for each other")
)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout bounds each call to Redis.
	Timeout time.Duration
	// Sweep is how often Run removes what has expired.
	Sweep time.Duration
	// Wait is how long a search waits for others of its tenant until it is refused.
	Wait time.Duration
	// Items bounds the items of a tenant, those of sessions included; 0 is no limit.
	Items int
	// Log is told what Run cannot remove; nil tells nobody.
	Log *slog.Logger
}

// Store keeps items and sessions. It is safe for concurrent use. Its errors are terminal, with the field, where an argument is over a
// limit; those of this package; redisstore.ErrErased where the user was erased after the request began; or they wrap fault.ErrUnavailable.
type Store struct {
	redisstore.Space
	o       Options
	scripts scripts
	most    int // MaxScan
	scans   *gate
}

// New returns a store over a Redis, which stays the caller's to close; it does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Sweep, o.Wait = redisstore.Or(o.Sweep, DefaultSweep), redisstore.Or(o.Wait, DefaultWait)
	return &Store{
		Space: redisstore.Space{
			Redis: redis, Name: "verbatim items", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout),
		},
		o: o, scripts: scripts{newItemScripts(), newSessionScripts()}, most: MaxScan, scans: newGate(o.Wait),
	}
}

// tenantsKey holds the tenants that have items which expire.
func (s *Store) tenantsKey() string { return s.Prefix + "tenants" }

// countKey holds how many items a tenant has, those of sessions included.
func (s *Store) countKey(tenant string) string { return s.Key(tenant, "count") }

// OfTenant returns how many items are kept of a tenant, those of sessions included. One that has expired counts until it is removed.
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

// itemKeys are where a user's items are, as scripts take them: when each was updated and when each expires, in µs, what they are, the
// users of the tenant by when something of them expires first, and the number of items of the tenant.
func (s *Store) itemKeys(tenant, userHash string) []string {
	return []string{
		s.Key(tenant, "updated:"+userHash), s.Key(tenant, "expires:"+userHash), s.Key(tenant, "items:"+userHash), s.Key(tenant, "due"),
		s.countKey(tenant),
	}
}

// errForm says that what Redis has is not what a store wrote.
var errForm = errors.New("what is kept is in no form that is known")

// unreadable is the error of what Redis has that no store wrote; err may say more.
func unreadable(what string, err error) error {
	return fmt.Errorf("verbatim items: %s: %w", what, errors.Join(errForm, err))
}
