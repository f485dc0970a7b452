package quota

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/access"
)

// What is counted.
const (
	Requests = "requests"
	Turns    = "turns"
	Recalls  = "recalls"
	Answers  = "answers"
)

const (
	// keepDays is how many days of usage are kept.
	keepDays = 400
	day      = 24 * time.Hour
	// maxWaiting bounds what waits to be written, in days of tenants.
	maxWaiting = 10_000
	// own begins the fields of a hash of usage that are no counts.
	own = "."
)

// account is whose usage, and of which day in UTC.
type account struct {
	tenant string
	date   string
}

type counts map[string]int64

// usage collects counts and writes them in batches. A batch is sent until it is written, always the same, so that nothing counts twice.
type usage struct {
	link    *link
	prefix  string
	now     func() time.Time
	log     *slog.Logger
	lost    metric.Int64Counter
	script  *goredis.Script
	replica string

	mu      sync.Mutex
	waiting map[account]counts

	writing sync.Mutex // guards what follows, and held while writing
	batch   map[account]counts
	number  int64 // of the batch
}

func newUsage(l *link, o Options, lost metric.Int64Counter) *usage {
	return &usage{
		link: l, prefix: o.Prefix, now: o.Now, log: o.Log, lost: lost, script: usageScript(), replica: own + uuid.NewString(),
		waiting: map[account]counts{},
	}
}

// Count counts n of what a principal did, one of Requests, Turns, Recalls and Answers. It returns at once: Run writes what was counted,
// as soon as Redis is there. What is more than can wait is dropped, and counted in a metric.
func (q *Quota) Count(ctx context.Context, p access.Principal, what string, n int) {
	u := q.usage
	of := account{p.Tenant.ID, u.now().UTC().Format(time.DateOnly)}
	u.mu.Lock()
	c := u.waiting[of]
	if c == nil && len(u.waiting) < maxWaiting {
		c = counts{}
		u.waiting[of] = c
	}
	if c != nil {
		c[what] += int64(n)
	}
	u.mu.Unlock()
	if c == nil {
		u.lost.Add(ctx, int64(n))
	}
}

// Counting counts recalls and answers that were given, for the clients of upstream.New.
func (q *Quota) Counting() connect.Interceptor {
	what := map[string]string{
		mnemev1connect.UtilizerServiceRecallProcedure: Recalls, mnemev1connect.UtilizerServiceAnswerProcedure: Answers,
	}
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			if w, ok := what[req.Spec().Procedure]; ok && err == nil {
				if p, ok := access.FromContext(ctx); ok {
					q.Count(ctx, p, w, 1)
				}
			}
			return res, err
		}
	})
}

// Usage returns what the tenant of ctx did on a day ("2026-11-25", in UTC; empty for today), 0 for what it did not. Other replicas may not
// have written the last second. It needs access.Admin. Its errors are problems, or those of upstream.Check.
func (q *Quota) Usage(ctx context.Context, date string) (map[string]int64, error) {
	if err := upstream.Check(ctx, access.Admin, ""); err != nil {
		return nil, err
	}
	p, _ := access.FromContext(ctx) // checked
	u := q.usage
	if date == "" {
		date = u.now().UTC().Format(time.DateOnly)
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return nil, door.Invalid("day", "is not a day such as 2026-11-25")
	}
	u.write(ctx)
	var fields map[string]string
	err := u.link.do(ctx, func(ctx context.Context) (err error) {
		fields, err = u.link.redis.HGetAll(ctx, u.key(account{p.Tenant.ID, date})).Result()
		return err
	})
	if err != nil {
		return nil, unavailable("usage cannot be told at the moment")
	}
	out := map[string]int64{Requests: 0, Turns: 0, Recalls: 0, Answers: 0}
	for field, text := range fields {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && !strings.HasPrefix(field, own) {
			out[field] = n
		}
	}
	return out, nil
}

func (u *usage) key(of account) string { return key(u.prefix, of.tenant, "usage:"+of.date) }

// write writes what waits, a batch left from before first. What Redis does not take stays for the next time.
func (u *usage) write(ctx context.Context) {
	u.writing.Lock()
	defer u.writing.Unlock()
	for u.next() {
		for of, c := range u.batch {
			if err := u.send(ctx, of, c); err != nil {
				return // the link says what is wrong
			}
			delete(u.batch, of)
		}
	}
}

// next makes what waits the batch where there is none; false says that there is nothing to write.
func (u *usage) next() bool {
	if len(u.batch) > 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting) == 0 {
		return false
	}
	u.batch, u.waiting = u.waiting, map[account]counts{}
	u.number++
	return true
}

func (u *usage) send(ctx context.Context, of account, c counts) error {
	from, err := time.Parse(time.DateOnly, of.date)
	if err != nil {
		return err // not one of ours
	}
	args := []any{u.replica, u.number, from.Add((keepDays + 1) * day).UnixMilli()}
	for what, n := range c {
		args = append(args, what, n)
	}
	_, err = u.link.run(ctx, u.script, []string{u.key(of)}, args...)
	return err
}

// last writes what is left at the end.
func (u *usage) last(ctx context.Context) {
	u.write(ctx)
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	left := int64(0)
	for _, accounts := range []map[account]counts{u.batch, u.waiting} {
		for _, c := range accounts {
			for _, n := range c {
				left += n
			}
		}
	}
	if left > 0 {
		u.lost.Add(ctx, left)
		u.log.ErrorContext(ctx, "usage that Redis did not take is lost", "count", left)
	}
}
