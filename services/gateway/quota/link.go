package quota

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// logEvery is how often the log says at most that Redis is away.
const logEvery = 10 * time.Second

// errAway says that Redis did not answer a moment ago, and is not asked.
var errAway = errors.New("redis is away")

// link is the way to Redis. It gives up soon, and leaves a Redis that does not answer alone for a while, so that calls that are served
// without limits do not wait for it.
type link struct {
	redis          goredis.UniversalClient
	timeout, pause time.Duration
	now            func() time.Time
	log            *slog.Logger
	unchecked      metric.Int64Counter
	fail           string

	mu       sync.Mutex
	away     bool
	askAt    time.Time // when it is asked again, while it is away
	loggedAt time.Time
}

// run runs a script and returns its answer, a list of integers.
func (l *link) run(ctx context.Context, s *goredis.Script, keys []string, args ...any) ([]int64, error) {
	var answer []int64
	err := l.do(ctx, func(ctx context.Context) (err error) {
		answer, err = s.Run(ctx, l.redis, keys, args...).Int64Slice()
		return err
	})
	return answer, err
}

// do asks Redis, in time, or returns errAway. An error after the end of ctx says nothing about Redis.
func (l *link) do(ctx context.Context, ask func(context.Context) error) error {
	if !l.mayAsk() {
		return errAway
	}
	within, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	err := ask(within)
	if err == nil || ctx.Err() == nil {
		l.note(ctx, err)
	}
	return err
}

// mayAsk is true while Redis is there, and for one call after each pause while it is away.
func (l *link) mayAsk() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.away {
		return true
	}
	now := l.now()
	if now.Before(l.askAt) {
		return false
	}
	l.askAt = now.Add(l.pause)
	return true
}

// note notes whether Redis has answered, and logs when that changes, or stays wrong.
func (l *link) note(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, before := l.now(), l.away
	l.away = err != nil
	if err == nil {
		if before {
			l.loggedAt = time.Time{}
			l.log.InfoContext(ctx, "Redis is back: limits hold again")
		}
		return
	}
	l.askAt = now.Add(l.pause)
	if l.loggedAt.IsZero() || now.Sub(l.loggedAt) >= logEvery {
		l.loggedAt = now
		l.log.ErrorContext(ctx, "Redis is away: limits cannot be told", "calls", served(l.fail), "error", err)
	}
}

func served(fail string) string {
	if fail == FailClosed {
		return "refused"
	}
	return "served"
}

// without is what becomes of a call whose limits cannot be told: nil where it is served all the same, else a problem.
func (l *link) without(ctx context.Context) error {
	l.unchecked.Add(ctx, 1, metric.WithAttributes(telemetry.AttrOutcome.String(served(l.fail))))
	if l.fail != FailClosed {
		return nil
	}
	return unavailable("limits cannot be told at the moment")
}

func unavailable(detail string) error {
	return door.Problem{Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, RetryAfter: time.Second, Detail: detail}
}
