// Package usage counts the usage of tenants by day, in Redis, so that all services and replicas count together.
package usage

import (
	"cmp"
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

// The counted quantities.
const (
	Requests = "requests"
	Turns    = "turns"
	Recalls  = "recalls"
	Answers  = "answers"
	// Tokens is the number of tokens in models' prompts and answers, as counted by their servers. It excludes
	// embeddings, because they are computed for several tenants together.
	Tokens = "tokens"
	// Degraded is the number of questions without a model call because the tenant's token budget was used up.
	Degraded = "degraded"
)

// Defaults of Options.
const (
	DefaultPrefix  = "mneme:usage:"
	DefaultTimeout = 250 * time.Millisecond
	DefaultFlush   = time.Second
)

const (
	// keepDays is the number of days that counts are kept.
	keepDays = 400
	day      = redisstore.Day
	// maxWaiting limits the unwritten counts, as a number of pairs of tenant and day.
	maxWaiting = 10_000
	// own is the prefix of hash fields that are no counts.
	own = "."
)

// ErrDay means that a text is no day such as "2026-11-25".
var ErrDay = errors.New("is not a day such as 2026-11-25")

// Options configure a Counter. Zero values have defaults.
type Options struct {
	// Prefix is the prefix of the keys in Redis.
	Prefix string
	// Timeout is the timeout of each call to Redis. It applies if the client respects contexts
	// (ContextTimeoutEnabled).
	Timeout time.Duration
	// Flush is the interval at which counts are written.
	Flush time.Duration
	// Now is the clock for the current day.
	Now func() time.Time
	// Meter creates the metric of lost counts; nil creates no metric.
	Meter metric.Meter
	// Log receives the begin and the end of an outage of Redis; nil turns it off.
	Log *slog.Logger
}

func (o Options) filled() Options {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.Flush = redisstore.Or(o.Flush, DefaultFlush)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Meter = cmp.Or(o.Meter, telemetry.Discard().Meter.Meter(""))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// account is a tenant and a day in UTC.
type account struct {
	tenant string
	date   string
}

type counts map[string]int64

// Counter collects counts and writes them in batches. It sends a batch unchanged until it is written, so that nothing
// counts twice. It is safe for concurrent use. The caller must run Run in parallel.
type Counter struct {
	redisstore.Space
	o       Options
	lost    metric.Int64Counter
	script  *goredis.Script
	replica string

	mu      sync.Mutex
	waiting map[account]counts

	writing sync.Mutex // guards the fields below, and is held during a write
	batch   map[account]counts
	number  int64 // of the batch
	away    bool
}

// New returns a Counter over a Redis client. The caller closes the client. New does not wait for Redis. It returns an
// error if a metric cannot be created.
func New(redis goredis.UniversalClient, o Options) (*Counter, error) {
	o = o.filled()
	lost, err := telemetry.MetricUsageLost.Counter(o.Meter)
	if err != nil {
		return nil, err
	}
	return &Counter{
		Space: redisstore.Space{Redis: redis, Name: "usage", Prefix: o.Prefix,
			Timeout: redisstore.Or(o.Timeout, DefaultTimeout)},
		o: o, lost: lost, script: addScript(), replica: own + uuid.NewString(), waiting: map[account]counts{},
	}, nil
}

// Count adds n to a tenant's quantity. It returns at once: Run writes the counts once Redis answers. Count drops
// counts above the limit, and counts them in a metric.
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

// Of returns a tenant's written usage of a day ("2026-11-25", in UTC; empty for today). Other replicas and services
// may not have written the last second. Its error is ErrDay, or an error of Redis.
func (c *Counter) Of(ctx context.Context, tenant, date string) (map[string]int64, error) {
	if date == "" {
		date = c.today()
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return nil, ErrDay
	}
	c.write(ctx)
	fields, err := c.Fields(ctx, "read a day", c.Key(tenant, date))
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

// Today returns a tenant's written usage of one quantity today. Its error is an error of Redis.
func (c *Counter) Today(ctx context.Context, tenant, what string) (int64, error) {
	n, err := c.Redis.HGet(ctx, c.Key(tenant, c.today()), what).Int64()
	if errors.Is(err, goredis.Nil) {
		return 0, nil
	}
	return n, err
}

// Run writes the counts until ctx ends, and then the remaining ones. It returns nil.
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

// Close writes the remaining counts. Counts that Redis does not accept are lost, and Close logs the loss.
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
		c.o.Log.ErrorContext(ctx, "usage is lost, because Redis did not accept it", "count", left)
	}
}

func (c *Counter) today() string { return c.o.Now().UTC().Format(time.DateOnly) }

// write writes the waiting counts, after the unwritten batch of the previous call. Counts that Redis does not accept
// wait for the next call.
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

// note logs the begin and the end of an outage of Redis.
func (c *Counter) note(ctx context.Context, err error) {
	switch away := err != nil; {
	case away && !c.away && ctx.Err() == nil:
		c.o.Log.WarnContext(ctx, "Redis is unavailable: usage counts wait", "error", err)
		c.away = true
	case !away && c.away:
		c.o.Log.InfoContext(ctx, "Redis is available again: usage is counted")
		c.away = false
	}
}

// next makes a batch of the waiting counts if there is no batch. It returns false if there is nothing to write.
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
		return err // not a field of this package
	}
	args := []any{c.replica, c.number, from.Add((keepDays + 1) * day).UnixMilli()}
	for what, n := range counted {
		args = append(args, what, n)
	}
	_, err = c.Eval(ctx, "count", c.script, []string{c.Key(of.tenant, of.date)}, args...)
	return err
}

// addScript adds counts to a hash once, because a replica without an answer sends the same batch again. ARGV are the
// replica's field, the increasing number of the batch, and the expiry time of the hash in ms since 1970. Then follow
// fields with their increments. Numbers are written in full, because Lua would round them.
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
