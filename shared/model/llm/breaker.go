package llm

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/sony/gobreaker/v2"
)

// errLeftAlone says that the endpoint failed so often that it was not asked.
var errLeftAlone = errors.New("endpoint failed too often in a row and is left alone for a while")

// breaker is what Breaker says; nil lets every attempt pass.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]
}

func newBreaker(cfg Breaker, log *slog.Logger) *breaker {
	if cfg.Failures == 0 {
		return nil
	}
	return &breaker{gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
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
// of the endpoint.
func (b *breaker) run(ctx context.Context, attempt func() error) error {
	if b == nil {
		return attempt()
	}
	var made error
	_, err := b.circuit.Execute(func() (struct{}, error) {
		if made = attempt(); made != nil && ctx.Err() != nil {
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
