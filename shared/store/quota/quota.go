// Package quota counts, in Redis, what bounds the calls of tenants, so that all replicas of the gateway count together: rates by the
// generic
// cell rate algorithm, leases of open streams, and how many memories of a tenant are stored. A Redis that does not answer is left alone for
// a while, so that calls that are served without limits do not wait for it.
package quota

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:quota:"
	DefaultTimeout = 250 * time.Millisecond
	DefaultPause   = time.Second
)

// logEvery is how often the log says at most that Redis is away.
const logEvery = 10 * time.Second

// memoriesFresh is how long a number of stored memories is used: they are formed offline, so that the newest are not counted anyway.
const memoriesFresh = 10 * time.Second

// ErrAway says that Redis did not answer a moment ago, and is not asked.
var ErrAway = errors.Join(errors.New("redis is away"), fault.ErrUnavailable)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout bounds each call to Redis.
	Timeout time.Duration
	// Pause is how long a Redis that did not answer is left alone before it is asked again.
	Pause time.Duration
	// Now is the clock for pauses; counts go by the clock of Redis.
	Now func() time.Time
	// Log is told when Redis is away and back; nil tells nobody.
	Log *slog.Logger
}

// Store counts. It is safe for concurrent use. Its errors wrap fault.ErrUnavailable.
type Store struct {
	space        redisstore.Space
	pause        time.Duration
	now          func() time.Time
	log          *slog.Logger
	admit, lease *goredis.Script

	mu       sync.Mutex
	away     bool
	askAt    time.Time // when Redis is asked again, while it is away
	loggedAt time.Time
}

// New returns a store over a Redis, which stays the caller's to close. It does not wait for it.
func New(redis goredis.UniversalClient, o Options) *Store {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{
		space: redisstore.Space{Redis: redis, Name: "quotas", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout)},
		pause: redisstore.Or(o.Pause, DefaultPause), now: o.Now, log: o.Log,
		admit: goredis.NewScript(admitSource), lease: goredis.NewScript(leaseSource),
	}
}

// Rate is a limit of so many per period, all of which may come at once.
type Rate struct {
	// Name names what is counted of the tenant.
	Name   string
	Limit  int
	Period time.Duration
}

// Interval is the time in µs after which one more may come.
func (r Rate) Interval() int64 { return max(1, r.Period.Microseconds()/int64(r.Limit)) }

// Admit counts a cost against all rates of a tenant or, where it is over one of them, against none. free is how much of each is left, in
// µs.
func (s *Store) Admit(ctx context.Context, tenant string, cost int, rates []Rate) (within bool, free []int64, err error) {
	keys, args := make([]string, len(rates)), []any{cost}
	for i, r := range rates {
		keys[i], args = s.space.Key(tenant, r.Name), append(args, r.Interval(), r.Limit)
	}
	answer, err := s.run(ctx, s.admit, keys, args...)
	if err != nil {
		return false, nil, err
	}
	return answer[0] == 1, answer[1:], nil
}

// Lease takes or renews a lease in the sets of a tenant, for ttl. full is the number of the first set that has as many leases as its limit,
// from 1 on, and 0 where the lease was taken; without limits, as for a renewal, it is always taken.
func (s *Store) Lease(ctx context.Context, tenant, id string, ttl time.Duration, sets []string, limits ...int) (full int, err error) {
	args := []any{id, ttl.Milliseconds()}
	for _, l := range limits {
		args = append(args, l)
	}
	answer, err := s.run(ctx, s.lease, s.keys(tenant, sets), args...)
	if err != nil {
		return 0, err
	}
	return int(answer[0]), nil
}

// Return gives a lease back. Where Redis is away the lease ends by itself.
func (s *Store) Return(ctx context.Context, tenant, id string, sets []string) error {
	return s.Ask(ctx, func(ctx context.Context) error {
		_, err := s.space.Redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, k := range s.keys(tenant, sets) {
				p.ZRem(ctx, k, id)
			}
			return nil
		})
		return err
	})
}

func (s *Store) keys(tenant string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = s.space.Key(tenant, name)
	}
	return out
}

func (s *Store) memoriesKey(tenant string) string { return s.space.Key(tenant, "memories") }

// Memories returns how many memories of a tenant are stored; ok is false where nobody has kept that lately.
func (s *Store) Memories(ctx context.Context, tenant string) (n int64, ok bool, err error) {
	ok = true
	err = s.Ask(ctx, func(ctx context.Context) (err error) {
		if n, err = s.space.Redis.Get(ctx, s.memoriesKey(tenant)).Int64(); errors.Is(err, goredis.Nil) {
			ok, err = false, nil
		}
		return err
	})
	return n, ok && err == nil, err
}

// KeepMemories keeps how many memories of a tenant are stored, for a while.
func (s *Store) KeepMemories(ctx context.Context, tenant string, n int64) error {
	return s.Ask(ctx, func(ctx context.Context) error {
		return s.space.Redis.Set(ctx, s.memoriesKey(tenant), n, memoriesFresh).Err()
	})
}

// run runs a script and returns its answer, a list of integers.
func (s *Store) run(ctx context.Context, script *goredis.Script, keys []string, args ...any) ([]int64, error) {
	var answer []int64
	err := s.Ask(ctx, func(ctx context.Context) (err error) {
		answer, err = script.Run(ctx, s.space.Redis, keys, args...).Int64Slice()
		return err
	})
	return answer, err
}

// Ask asks Redis within the timeout, or returns ErrAway. An error after the end of ctx says nothing about Redis.
func (s *Store) Ask(ctx context.Context, ask func(context.Context) error) error {
	if !s.mayAsk() {
		return ErrAway
	}
	err := s.space.Do(ctx, "ask", ask)
	if err == nil || ctx.Err() == nil {
		s.note(ctx, err)
	}
	return err
}

// mayAsk is true while Redis is there, and for one call after each pause while it is away.
func (s *Store) mayAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.away {
		return true
	}
	now := s.now()
	if now.Before(s.askAt) {
		return false
	}
	s.askAt = now.Add(s.pause)
	return true
}

// note notes whether Redis has answered, and logs when that changes, or stays wrong.
func (s *Store) note(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, before := s.now(), s.away
	s.away = err != nil
	if err == nil {
		if before {
			s.loggedAt = time.Time{}
			s.log.InfoContext(ctx, "Redis is back: limits hold again")
		}
		return
	}
	s.askAt = now.Add(s.pause)
	if s.loggedAt.IsZero() || now.Sub(s.loggedAt) >= logEvery {
		s.loggedAt = now
		s.log.ErrorContext(ctx, "Redis is away: limits cannot be told", "error", err)
	}
}
