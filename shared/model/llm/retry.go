package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// try runs attempt until it succeeds, fails for good, or the attempts are used up. A place in the gate is
// held while an attempt runs, not while waiting for the next one.
func (c *Client) try(ctx context.Context, tenant string, attempt func(context.Context) error) (attempts int, err error) {
	for attempts = 1; ; attempts++ {
		err = c.attempt(ctx, tenant, attempt)
		if err == nil {
			return attempts, nil
		}
		if ctx.Err() != nil {
			return attempts, context.Cause(ctx)
		}
		var ae *answerError
		if errors.As(err, &ae) {
			return attempts, ae.err
		}
		var se *StatusError
		isStatus := errors.As(err, &se)
		if isStatus && !se.retryable() {
			return attempts, fmt.Errorf("%w: %w", se.kind(), se)
		}
		wait := c.backoff(attempts)
		if isStatus {
			wait = max(wait, se.RetryAfter)
		}
		tooLong := isStatus && se.RetryAfter > c.cfg.Retry.MaxServerWait
		if attempts > c.cfg.Retry.Max || tooLong {
			return attempts, fmt.Errorf("%w after %d attempts: %w", ErrUnavailable, attempts, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return attempts, err
		}
	}
}

// attempt runs one attempt within its own deadline.
func (c *Client) attempt(ctx context.Context, tenant string, attempt func(context.Context) error) error {
	leave, err := c.gate.enter(ctx, tenant)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTimeout)
	defer cancel()
	err = attempt(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return fmt.Errorf("%w after %s", errTimeout, c.cfg.Timeout)
	}
	return err
}

var errTimeout = errors.New("request timed out")

// backoff is the wait after the n-th failed attempt: anything up to base*2^(n-1), capped. Full
// jitter spreads callers that failed together.
func (c *Client) backoff(n int) time.Duration {
	upper := c.cfg.Retry.Cap
	if shift := n - 1; shift < 30 && c.cfg.Retry.Base<<shift < upper {
		upper = c.cfg.Retry.Base << shift
	}
	return rand.N(upper + 1)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter reads how long a server asks to wait: in milliseconds, in seconds or until a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return bounded(s, time.Second)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// bounded keeps odd numbers (negative, huge, NaN) from overflowing.
func bounded(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch {
	case !(n > 0):
		return 0
	case n > float64(day/unit):
		return day
	}
	return time.Duration(n * float64(unit))
}
