package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

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
