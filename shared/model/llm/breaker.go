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

// errLeftAlone says that the endpoint failed so often that it was not asked.
var errLeftAlone = errors.New("endpoint failed too often in a row and is left alone for a while")

// breaker is what Breaker says; nil lets every attempt pass.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]
	inVain  atomic.Int64 // nanoseconds that callers waited until their deadlines since anything came from the endpoint
}

// patience is the part of a role's timeout that has to be waited in vain before callers' own deadlines count as failures.
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
				log.Error("model endpoint fails and is left alone for a while", "failures", cfg.Failures, "pause", cfg.Pause)
			case gobreaker.StateClosed:
				log.Info("model endpoint answers again")
			}
		},
	})}
}

// run makes an attempt, or returns errLeftAlone. ctx is the caller's: an attempt that ends because nobody waits any more says nothing
// of the endpoint, nor does a deadline that is soon over. Deadlines up to which nothing came add up, so that an endpoint that hangs is
// left alone although no caller waits for the timeout of its role.
func (b *breaker) run(ctx context.Context, timeout time.Duration, attempt func(context.Context) error) error {
	if b == nil {
		return attempt(ctx)
	}
	var made error
	_, err := b.circuit.Execute(func() (struct{}, error) {
		var answered atomic.Bool
		began := time.Now()
		made = attempt(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }}))
		switch {
		case answered.Load() || present(made):
			b.inVain.Store(0)
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && b.inVain.Add(int64(time.Since(began))) >= int64(timeout/patience):
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

// errGivenUp stands for what became of an attempt whose caller went away.
var errGivenUp = errors.New("given up by the caller")

// present reports whether an attempt shows that the endpoint is there.
func present(err error) bool {
	var se *StatusError
	return err == nil || errors.As(err, new(*answerError)) || errors.As(err, &se) && se.Status < http.StatusInternalServerError &&
		se.Status != http.StatusRequestTimeout
}

// saysNothing are the ends of attempts from which nothing follows: somebody who no longer waits, and a limit.
func saysNothing(err error) bool {
	var se *StatusError
	return errors.Is(err, errGivenUp) || errors.As(err, &se) && se.Status == http.StatusTooManyRequests
}
