package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/mneme-memory/mneme/shared/fault"
)

// PanicError is the error that Recover makes of a panic. It is retryable. Retry makes a repeated panic terminal,
// because a record that always panics must not stall its partition.
type PanicError struct {
	// Value is the argument of panic.
	Value any
	// Stack is the stack of the goroutine that panicked.
	Stack []byte
}

// Error gives only the type of a value that is not an error, because its text may quote the record.
func (e *PanicError) Error() string {
	if err, ok := e.Value.(error); ok {
		return "handler panicked: " + err.Error()
	}
	return fmt.Sprintf("handler panicked with a %T", e.Value)
}

// Unwrap returns the panic's value when it is an error other than a terminal one.
func (e *PanicError) Unwrap() error {
	if err, ok := e.Value.(error); ok && !fault.IsTerminal(err) {
		return err
	}
	return nil
}

// Recover turns a panic of the handler into a *PanicError. It belongs inside Retry.
func Recover() Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, batch []Message) (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = &PanicError{Value: v, Stack: debug.Stack()}
				}
			}()
			return next(ctx, batch)
		}
	}
}

// Timeout bounds each attempt. An attempt that exceeds it is retryable. 0 bounds nothing.
func Timeout(d time.Duration) Middleware {
	return func(next Handler) Handler {
		if d <= 0 {
			return next
		}
		return func(ctx context.Context, batch []Message) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return next(ctx, batch)
		}
	}
}

// RetryConfig sets the pauses between attempts. They grow by half each time and vary at random by half in both
// directions. A pause is at least as long as the time in a fault.LaterError.
type RetryConfig struct {
	// Initial is the first pause.
	Initial time.Duration
	// Max is the longest pause before the random variation.
	Max time.Duration
	// Panics is the number of panics in attempts that makes the error terminal.
	Panics int
	// Unusable is the number of unusable model answers (fault.ErrUnusableAnswer) to one record that makes the error
	// terminal. Attempts before Isolate count too. It is two for an answer that would come again
	// (fault.ErrAskLess). It is one for several records, because Isolate then tries each of them alone.
	Unusable int
}

// DefaultRetryConfig pauses from 50 ms to 5 s and gives up on the third panic and the third unusable answer.
func DefaultRetryConfig() RetryConfig {
	return RetryConfig{Initial: 50 * time.Millisecond, Max: 5 * time.Second, Panics: 3, Unusable: 3}
}

// triedError is a terminal error with the number of attempts on the batch.
type triedError struct {
	attempts int
	err      error
}

func (e *triedError) Error() string { return e.err.Error() }
func (e *triedError) Unwrap() error { return e.err }

// Retry makes attempts until one succeeds, the error is terminal, or ctx is done. It logs each failed attempt.
//
// Retry repeats an unknown error that is not terminal for ever, and its partition waits. Such an error looks the same
// as an outage. To give up on it would turn every long outage into dead letters, and break the order of a user's
// events. So a bug with such an error stops a partition until the bug is repaired. It shows as a consumer lag that
// grows on one partition while batches are retried. Each attempt logs the error with topic, partition and offset.
func Retry(cfg RetryConfig, ins *Instruments) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, batch []Message) error {
			pauses := backoff.ExponentialBackOff{
				InitialInterval: cfg.Initial, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: cfg.Max,
			}
			pauses.Reset()
			var seen failures
			if ctx.Value(isolatedKey{}) != nil {
				seen.unusable = 1
			}
			for attempt := 1; ; attempt++ {
				err := next(ctx, batch)
				if err == nil {
					return nil
				}
				err = seen.judge(err, len(batch), cfg)
				if fault.IsTerminal(err) {
					return &triedError{attempts: attempt, err: err}
				}
				if ctx.Err() != nil {
					return err
				}
				ins.retry(ctx, batch, attempt, err)
				pause := pauses.NextBackOff()
				if later, ok := errors.AsType[*fault.LaterError](err); ok {
					pause = max(pause, later.After) // heartbeats to the group continue, and a revoked partition ends ctx
				}
				if !Pause(ctx, pause) {
					return err
				}
			}
		}
	}
}

// failures counts the failures with a limit. A record that always has them must not stall its partition.
type failures struct{ panics, unusable int }

// judge makes such an error terminal once its limit is reached.
func (f *failures) judge(err error, records int, cfg RetryConfig) error {
	var p *PanicError
	count, limit := &f.unusable, cfg.Unusable
	switch {
	case errors.As(err, &p):
		count, limit = &f.panics, cfg.Panics
	case !errors.Is(err, fault.ErrUnusableAnswer):
		return err
	case records > 1:
		limit = 1
	case errors.Is(err, fault.ErrAskLess):
		limit = min(limit, 2)
	}
	*count++
	if *count < limit {
		return err
	}
	return fault.Terminal("", "%w (%d times)", err, *count)
}

func (ins *Instruments) retry(ctx context.Context, batch []Message, attempt int, err error) {
	ins.retried.Add(ctx, 1, metric.WithAttributes(semconv.MessagingDestinationName(batch[0].Topic)))
	attrs := batchAttrs(batch, slog.Int("attempt", attempt), slog.Any("error", err))
	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	ins.log.WarnContext(ctx, "attempt failed, retrying", attrs...)
}
