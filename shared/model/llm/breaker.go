package llm

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

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
