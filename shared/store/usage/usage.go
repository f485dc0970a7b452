// Package usage counts what tenants do and use, by day, in Redis, where all services and their replicas count together.
package usage

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// What is counted.
const (
	Requests = "requests"
	Turns    = "turns"
	Recalls  = "recalls"
	Answers  = "answers"
	// Tokens are those of models' prompts and answers, as their servers count them. Embedding a text is not among them: it is done for
	// tenants together.
	Tokens = "tokens"
	// Degraded are questions that were not put to a model because the tenant's budget of tokens was used up.
	Degraded = "degraded"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:usage:"
	DefaultTimeout = 250 * time.Millisecond
	DefaultFlush   = time.Second
)

const (
	// keepDays is how many days are kept.
	keepDays = 400
	day      = redisstore.Day
	// maxWaiting bounds what waits to be written, in days of tenants.
	maxWaiting = 10_000
	// own begins the fields of a hash that are no counts.
	own = "."
)

// ErrDay is a day that is none such as "2026-11-25".
var ErrDay = errors.New("is not a day such as 2026-11-25")

// Options are what a Counter is run with. Zero values have defaults.
type Options struct {
	// Prefix begins the keys in Redis.
	Prefix string
	// Timeout is how long a call waits for Redis. It holds where the client heeds contexts (ContextTimeoutEnabled).
	Timeout time.Duration
	// Flush is how often counts are written.
	Flush time.Duration
	// Now is the clock that says which day it is.
	Now func() time.Time
	// Meter makes the metric of what is lost; nil makes none.
	Meter metric.Meter
	// Log is told when Redis is away and back; nil tells nobody.
	Log *slog.Logger
}

func (o Options) filled() Options {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	o.Flush = redisstore.Or(o.Flush, DefaultFlush)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Meter == nil {
		o.Meter = telemetry.Discard().Meter.Meter("")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// account is whose usage, and of which day in UTC.
type account struct {
	tenant string
	date   string
}

type counts map[string]int64

// Counter collects counts and writes them in batches. A batch is sent until it is written, always the same, so that nothing counts twice.
// It is safe for concurrent use; Run has to run beside it.
type Counter struct {
	redisstore.Space
	o       Options
	lost    metric.Int64Counter
	script  *goredis.Script
	replica string

	mu      sync.Mutex
	waiting map[account]counts

	writing sync.Mutex // guards what follows, and held while writing
	batch   map[account]counts
	number  int64 // of the batch
	away    bool
}

// New makes a Counter over a Redis, which stays the caller's to close. It does not wait for it. Its error says that a metric cannot be
// made.
func New(redis goredis.UniversalClient, o Options) (*Counter, error) {
	o = o.filled()
	lost, err := telemetry.MetricUsageLost.Counter(o.Meter)
	if err != nil {
		return nil, err
	}
	return &Counter{
		Space: redisstore.Space{Redis: redis, Name: "usage", Prefix: o.Prefix, Timeout: redisstore.Or(o.Timeout, DefaultTimeout)},
		o:     o, lost: lost, script: addScript(), replica: own + uuid.NewString(), waiting: map[account]counts{},
	}, nil
}

// Count counts n of what a tenant did or used. It returns at once: Run writes what was counted, as soon as Redis is there. What is more
// than can wait is dropped, and counted in a metric.
func (c *Counter) Count(ctx context.Context, tenant, what string, n int64) {
	of := account{tenant, c.today()}
	c.mu.Lock()
	w := c.waiting[of]
	if w == nil && len(c.waiting) < maxWaiting {
		w = counts{}
		c.waiting[of] = w
	}
	if w != nil {
		w[what] += n
	}
	c.mu.Unlock()
	if w == nil {
		c.lost.Add(ctx, n)
	}
}

// Of returns what a tenant did and used on a day ("2026-11-25", in UTC; empty for today), as far as it was counted. Other replicas and
// services may not have written the last second. Its error is ErrDay, or one of Redis.
func (c *Counter) Of(ctx context.Context, tenant, date string) (map[string]int64, error) {
	if date == "" {
		date = c.today()
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return nil, ErrDay
	}
	c.write(ctx)
	var fields map[string]string
	err := c.Do(ctx, "read a day", func(ctx context.Context) (err error) {
		fields, err = c.Redis.HGetAll(ctx, c.Key(tenant, date)).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for field, text := range fields {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && !strings.HasPrefix(field, own) {
			out[field] = n
		}
	}
	return out, nil
}

// Today returns how much of something a tenant did or used today, as far as it is written. Its error is one of Redis.
func (c *Counter) Today(ctx context.Context, tenant, what string) (int64, error) {
	n, err := c.Redis.HGet(ctx, c.Key(tenant, c.today()), what).Int64()
	if errors.Is(err, goredis.Nil) {
		return 0, nil
	}
	return n, err
}

// Run writes what was counted until ctx ends, and then what is left. It returns nil.
func (c *Counter) Run(ctx context.Context) error {
	flush := time.NewTicker(c.o.Flush)
	defer flush.Stop()
	for {
		select {
		case <-ctx.Done():
			c.Close(context.WithoutCancel(ctx))
			return nil
		case <-flush.C:
			c.write(ctx)
		}
	}
}

// Close writes what is left. What Redis does not take then is lost, and told.
func (c *Counter) Close(ctx context.Context) {
	c.write(ctx)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	left := int64(0)
	for _, accounts := range []map[account]counts{c.batch, c.waiting} {
		for _, counted := range accounts {
			for _, n := range counted {
				left += n
			}
		}
	}
	c.batch, c.waiting = nil, map[account]counts{}
	if left > 0 {
		c.lost.Add(ctx, left)
		c.o.Log.ErrorContext(ctx, "usage that Redis did not take is lost", "count", left)
	}
}

func (c *Counter) today() string { return c.o.Now().UTC().Format(time.DateOnly) }

// write writes what waits, a batch left from before first. What Redis does not take stays for the next time.
func (c *Counter) write(ctx context.Context) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for c.next() {
		for of, counted := range c.batch {
			err := c.send(ctx, of, counted)
			c.note(ctx, err)
			if err != nil {
				return
			}
			delete(c.batch, of)
		}
	}
}

// note logs when Redis is away and when it is back.
func (c *Counter) note(ctx context.Context, err error) {
	switch away := err != nil; {
	case away && !c.away && ctx.Err() == nil:
		c.o.Log.WarnContext(ctx, "Redis is away: usage waits to be counted", "error", err)
		c.away = true
	case !away && c.away:
		c.o.Log.InfoContext(ctx, "Redis is back: usage is counted again")
		c.away = false
	}
}

// next makes what waits the batch where there is none; false says that there is nothing to write.
func (c *Counter) next() bool {
	if len(c.batch) > 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return false
	}
	c.batch, c.waiting = c.waiting, map[account]counts{}
	c.number++
	return true
}

func (c *Counter) send(ctx context.Context, of account, counted counts) error {
	from, err := time.Parse(time.DateOnly, of.date)
	if err != nil {
		return err // not one of ours
	}
	args := []any{c.replica, c.number, from.Add((keepDays + 1) * day).UnixMilli()}
	for what, n := range counted {
		args = append(args, what, n)
	}
	_, err = c.Eval(ctx, "count", c.script, []string{c.Key(of.tenant, of.date)}, args...)
	return err
}

// addScript adds counts to a hash once: a replica that has had no answer sends the same again. ARGV are the replica's field, the number
// of what it sends, which grows, when the hash expires in ms since 1970, then fields with what is added to them. Numbers are written in
// full: Lua would round them.
func addScript() *goredis.Script {
	return goredis.NewScript(`
local hash = KEYS[1]
if tonumber(redis.call('HGET', hash, ARGV[1]) or 0) >= tonumber(ARGV[2]) then
  return {0}
end
redis.call('HSET', hash, ARGV[1], ARGV[2])
for i = 4, #ARGV, 2 do
  local sum = tonumber(redis.call('HGET', hash, ARGV[i]) or 0) + tonumber(ARGV[i + 1])
  redis.call('HSET', hash, ARGV[i], string.format('%.0f', sum))
end
redis.call('PEXPIREAT', hash, ARGV[3])
return {1}
`)
}
