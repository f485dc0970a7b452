package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"github.com/mneme-memory/mneme/shared/fault"
)

// try runs attempt until it succeeds, fails for good, or the attempts are used up. It holds a place in the queue
// only while an attempt runs, not during the wait for the next one.
func (c *Client) try(
	ctx context.Context, role Role, tenant string, attempt func(context.Context) error,
) (attempts int, err error) {
	once := func() (struct{}, error) {
		attempts++
		err = c.attempt(ctx, role, tenant, attempt)
		return struct{}{}, c.again(err)
	}
	r := c.cfg.Retry
	// Full jitter, anything between zero and twice the interval, spreads callers that failed together.
	wait := &backoff.ExponentialBackOff{InitialInterval: r.Base / 2, MaxInterval: r.Cap / 2, Multiplier: 2,
		RandomizationFactor: 1}
	_, _ = backoff.Retry(ctx, once, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(r.Max)+1),
		backoff.WithMaxElapsedTime(0))
	var ae *answerError
	var se *StatusError
	switch {
	case err == nil:
		return attempts, nil
	case ctx.Err() != nil:
		return attempts, context.Cause(ctx)
	case errors.As(err, new(*fault.LaterError)):
		return attempts - 1, err
	case errors.Is(err, errLeftAlone):
		return attempts - 1, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.As(err, &ae):
		return attempts, ae.err
	case errors.As(err, &se) && !se.retryable():
		return attempts, fmt.Errorf("%w: %w", se.kind(), se)
	case errors.As(err, &se) && se.RetryAfter > r.MaxServerWait:
		return attempts, &fault.LaterError{After: min(se.RetryAfter, maxLater), Err: fmt.Errorf("%w: %w", ErrUnavailable, se)}
	}
	return attempts, fmt.Errorf("%w after %d attempts: %w", ErrUnavailable, attempts, err)
}

// again decides what follows a failed attempt: no further attempt, one after the server's wait, or one after the
// usual wait.
func (c *Client) again(err error) error {
	var se *StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*answerError)), errors.Is(err, errLeftAlone), errors.As(err, new(*fault.LaterError)):
		return backoff.Permanent(err)
	case !errors.As(err, &se):
		return err
	case !se.retryable() || se.RetryAfter > c.cfg.Retry.MaxServerWait:
		return backoff.Permanent(err)
	case se.RetryAfter > 0:
		return &backoff.RetryAfterError{Duration: se.RetryAfter}
	}
	return err
}

// attempt runs one attempt within its own deadline, when it is the tenant's and the role's turn.
func (c *Client) attempt(ctx context.Context, role Role, tenant string, attempt func(context.Context) error) error {
	leave, err := c.enter(ctx, role, tenant)
	if err != nil {
		return err
	}
	defer leave()
	fault.Begin(ctx)
	timeout := c.cfg.TimeoutFor(role)
	return c.breaker.run(ctx, timeout, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer cancel()
		err := attempt(ctx)
		var se *StatusError
		if errors.As(err, &se) && se.retryable() && se.RetryAfter > 0 {
			c.asked.begin(c.cfg.ModelFor(role), se.RetryAfter)
		}
		if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
			return fmt.Errorf("%w after %s", errTimeout, timeout)
		}
		return err
	})
}

// enter waits for the tenant's and the role's turn, and returns a function that gives the place back. Meanwhile
// other calls of the tenant may use up its tokens, or the endpoint may request a pause. Then enter gives the place
// back at once and waits for that first.
func (c *Client) enter(ctx context.Context, role Role, tenant string) (leave func(), err error) {
	model := c.cfg.ModelFor(role)
	for {
		if err := c.asked.wait(ctx, model, c.cfg.Retry.MaxServerWait); err != nil {
			return nil, err
		}
		if err := c.rate.wait(ctx, tenant); err != nil {
			return nil, err
		}
		leave, err := c.places[base(role)].enter(ctx, tenant) // first, so that a caller that waits here holds no common place
		if err != nil {
			return nil, err
		}
		leaveCommon, err := c.queue.enter(ctx, tenant)
		if err != nil {
			leave()
			return nil, err
		}
		both := func() { leaveCommon(); leave() }
		if c.rate.excess(tenant) < 0 && c.asked.remaining(model) <= 0 {
			return both, nil
		}
		both()
	}
}

var errTimeout = errors.New("request timed out")

// retryAfter reads the wait that a server requests: in milliseconds, in seconds or until a date. An unreadable
// value is 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, given := range []string{h.Get("Retry-After-Ms") + "ms", h.Get("Retry-After") + "s"} {
		if d, err := time.ParseDuration(given); err == nil {
			return max(0, d)
		}
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// errLeftAlone says that the client sent no request, because the endpoint failed too often.
var errLeftAlone = errors.New("endpoint failed too often in a row, requests pause")

// breaker implements the Breaker settings. A nil breaker lets every attempt pass.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]
	inVain  atomic.Int64 // nanoseconds of vain waits up to callers' deadlines since the last sign of the endpoint
}

// patience divides the timeout of a role. Vain waits up to callers' own deadlines count as failures after that part
// of the timeout.
const patience = 10

func newBreaker(cfg Breaker, log *slog.Logger) *breaker {
	if cfg.Failures == 0 {
		return nil
	}
	return &breaker{circuit: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      cfg.Pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= cfg.Failures },
		IsSuccessful: present,
		IsExcluded:   saysNothing,
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				log.Error("model endpoint fails, pausing requests", "failures", cfg.Failures, "pause", cfg.Pause)
			case gobreaker.StateClosed:
				log.Info("model endpoint answers again")
			}
		},
	})}
}

// run makes an attempt, or returns errLeftAlone. The context is the caller's. An attempt that the caller cancels
// says nothing about the endpoint, and neither does a short deadline. Deadlines without any answer add up. So an
// endpoint that hangs trips the breaker, even when no caller waits for the full timeout of its role.
func (b *breaker) run(ctx context.Context, timeout time.Duration, attempt func(context.Context) error) error {
	if b == nil {
		return attempt(ctx)
	}
	var made error
	_, err := b.circuit.Execute(func() (struct{}, error) {
		var answered atomic.Bool
		began := time.Now()
		made = attempt(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() {
			answered.Store(true)
		}}))
		switch {
		case answered.Load() || present(made):
			b.inVain.Store(0)
		case errors.Is(ctx.Err(), context.DeadlineExceeded) &&
			b.inVain.Add(int64(time.Since(began))) >= int64(timeout/patience):
			return struct{}{}, made
		}
		if made != nil && ctx.Err() != nil {
			return struct{}{}, errGivenUp
		}
		return struct{}{}, made
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return errLeftAlone
	}
	return made
}

// errGivenUp replaces the result of an attempt whose caller went away.
var errGivenUp = errors.New("cancelled by the caller")

// present reports whether an attempt shows that the endpoint is reachable.
func present(err error) bool {
	var se *StatusError
	return err == nil || errors.As(err, new(*answerError)) ||
		errors.As(err, &se) && se.Status < http.StatusInternalServerError &&
			se.Status != http.StatusRequestTimeout
}

// saysNothing lists the ends of attempts that say nothing about the endpoint: a caller that stopped waiting, and a
// limit.
func saysNothing(err error) bool {
	var se *StatusError
	return errors.Is(err, errGivenUp) || errors.As(err, &se) && se.Status == http.StatusTooManyRequests
}

// maxLater is the longest pause that the client grants a server at a time.
const maxLater = time.Hour

// errPaused names the awaited condition.
var errPaused = fmt.Errorf("%w: it asked to wait", ErrUnavailable)

// pauses are the times until which the endpoint requested a pause, by model. They apply to all tenants, who share
// one key here.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// begin starts a pause of a model.
func (p *pauses) begin(model string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := time.Now().Add(min(d, maxLater)); at.After(p.until[model]) {
		p.until[model] = at
	}
}

// remaining is the remaining pause of a model.
func (p *pauses) remaining(model string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.until[model])
	if left <= 0 {
		delete(p.until, model)
	}
	return left
}

// wait returns when requests to the model are allowed again. It returns a fault.LaterError to a caller that would
// wait longer than most, or longer than its patience.
func (p *pauses) wait(ctx context.Context, model string, most time.Duration) error {
	for {
		left := p.remaining(model)
		if left <= 0 {
			return nil
		}
		if left > most || fault.Impatient(ctx, left) {
			return &fault.LaterError{After: left, Err: errPaused}
		}
		if err := sleep(ctx, left); err != nil {
			return err
		}
	}
}

// sleep waits for a while, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
