// Package quota keeps the counters for the limits of tenants in Redis, so that all replicas of the gateway count
// together. They are rates by the generic cell rate algorithm, leases of open streams, and the number of stored
// memories per tenant. If Redis does not answer, the package pauses its calls for a while. So calls that are served
// without limits do not wait for it.
package quota

import (
	"cmp"
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

// logEvery is the minimum interval of log lines about an outage of Redis.
const logEvery = 10 * time.Second

// memoriesFresh is how long a number of stored memories is used. Memories are formed offline, so the newest do not
// count anyway.
const memoriesFresh = 10 * time.Second

// ErrAway means that Redis did not answer recently, and is not called.
var ErrAway = errors.Join(errors.New("redis is unavailable"), fault.ErrUnavailable)

// Options configure a Store. Zero values have defaults.
type Options struct {
	// Prefix is the prefix of the keys in Redis.
	Prefix string
	// Timeout is the timeout of each call to Redis.
	Timeout time.Duration
	// Pause is how long Redis is not called after a failure.
	Pause time.Duration
	// Now is the clock for pauses. Counts use the clock of Redis.
	Now func() time.Time
	// Log receives the begin and the end of an outage of Redis; nil turns it off.
	Log *slog.Logger
}

// Store counts calls and leases. It is safe for concurrent use. Its errors wrap fault.ErrUnavailable.
type Store struct {
	space        redisstore.Space
	pause        time.Duration
	now          func() time.Time
	log          *slog.Logger
	admit, lease *goredis.Script

	mu       sync.Mutex
	away     bool
	askAt    time.Time // time of the next call during an outage
	loggedAt time.Time
}

// New returns a store over a Redis client. The caller closes the client. New does not wait for Redis.
func New(redis goredis.UniversalClient, o Options) *Store {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Store{
		space: redisstore.Space{Redis: redis, Name: "quotas", Prefix: o.Prefix,
			Timeout: redisstore.Or(o.Timeout, DefaultTimeout)},
		pause: redisstore.Or(o.Pause, DefaultPause), now: o.Now, log: o.Log,
		admit: goredis.NewScript(admitSource), lease: goredis.NewScript(leaseSource),
	}
}

// Rate is a maximum number per period. All may come at once.
type Rate struct {
	// Name is the name of the tenant's counter.
	Name   string
	Limit  int
	Period time.Duration
}

// Interval is the time in µs after which one more may come.
func (r Rate) Interval() int64 { return max(1, r.Period.Microseconds()/int64(r.Limit)) }

// Admit counts a cost against all rates of a tenant. If the cost exceeds one of them, it counts against none. free
// has the rest of each rate, in µs.
func (s *Store) Admit(
	ctx context.Context, tenant string, cost int, rates []Rate,
) (within bool, free []int64, err error) {
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

// Lease takes or renews a lease in the sets of a tenant, for ttl. full is the number of the first full set, counted
// from 1, or 0 if the lease was taken. Without limits, as for a renewal, it always takes the lease.
func (s *Store) Lease(
	ctx context.Context, tenant, id string, ttl time.Duration, sets []string, limits ...int,
) (full int, err error) {
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

// Return returns a lease. During an outage of Redis the lease ends by itself.
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

// Memories returns the number of stored memories of a tenant. ok is false without a recent number.
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

// KeepMemories stores the number of memories of a tenant for a while.
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

// Ask calls Redis within the timeout, or returns ErrAway. An error after the end of ctx does not count as an outage.
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

// mayAsk returns true while Redis answers. During an outage it returns true for one call after each pause.
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

// note records whether Redis has answered. It logs the begin, the continuation and the end of an outage.
func (s *Store) note(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, before := s.now(), s.away
	s.away = err != nil
	if err == nil {
		if before {
			s.loggedAt = time.Time{}
			s.log.InfoContext(ctx, "Redis is available again: limits apply")
		}
		return
	}
	s.askAt = now.Add(s.pause)
	if s.loggedAt.IsZero() || now.Sub(s.loggedAt) >= logEvery {
		s.loggedAt = now
		s.log.ErrorContext(ctx, "Redis is unavailable: limits are unknown", "error", err)
	}
}

// The scripts use the time of Redis, so the clocks of replicas do not matter. They write numbers in full, because Lua
// would round them. Each runs as a whole or not at all. Data for a few seconds is sent to Redis's replicas and not to
// its append-only file. Otherwise a request would wait for the disk if each write is synced.

// admitSource is the generic cell rate algorithm over several limits, all or none. A call that one limit refuses
// takes nothing from the others. KEYS hold the limits' theoretical arrival times, in µs. ARGV are the cost of the
// call, then interval in µs and burst of each limit. It returns 1 if the call is within all limits, else 0, and then
// the free rest of each limit in µs. A cost above a burst is always refused. Keys live longer than necessary, because
// an expiry is written to the append-only file, too.
const admitSource = `
redis.set_repl(redis.REPL_REPLICA)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local cost, within = tonumber(ARGV[1]), 1
local free = {}
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local arrival = math.max(tonumber(redis.call('GET', key) or 0), now)
  free[i] = now + interval * burst - arrival
  if free[i] < cost * interval then
    within = 0
  end
end
local answer = {within}
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  if within == 1 then
    free[i] = free[i] - cost * interval
    local wait = interval * burst - free[i]
    redis.call('SET', key, string.format('%.0f', now + wait), 'PX', string.format('%.0f', math.ceil(wait / 1000) + 600000))
  end
  answer[i + 1] = free[i]
end
return answer`

// leaseSource takes or renews a lease. KEYS are sorted sets of leases by their end, in ms. ARGV are the lease's id,
// its lifetime in ms, and the maximum number of leases per set, empty for no limit. It returns 0, or the number of
// the first full set; then it takes nothing.
const leaseSource = `
redis.set_repl(redis.REPL_REPLICA)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  local most = tonumber(ARGV[2 + i])
  if most and redis.call('ZCARD', key) >= most then
    return {i}
  end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2])
end
return {0}`
