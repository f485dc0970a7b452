package booster

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"
)

// workers keeps Temporal workers at work.
type workers struct {
	// create makes them; a worker that has stopped cannot be started again.
	create func() []worker.Worker
	log    *slog.Logger
}

// run runs the workers until ctx ends; then they finish what they have begun. A worker cannot start while Temporal is unavailable,
// and gives up when Temporal does not know the namespace any more, as after a restore. Neither may end the
// service or leave it idle, so all of them begin anew after a while.
func (w workers) run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 250*time.Millisecond, 15*time.Second
	for {
		all := w.create()
		if len(all) == 0 {
			return nil // the process has none of the roles that need one
		}
		began := time.Now()
		err := runAll(ctx, all)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > pause.MaxInterval {
			pause.Reset()
		}
		next := pause.NextBackOff()
		w.log.Warn("temporal workers ended, beginning anew", "retry_in", next.String(), "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// runAll runs workers until ctx ends or one of them does, and waits for all.
func runAll(ctx context.Context, workers []worker.Worker) error {
	g, ctx := errgroup.WithContext(ctx)
	stop := make(chan any)
	release := context.AfterFunc(ctx, func() { close(stop) })
	defer release()
	for _, w := range workers {
		g.Go(func() error { return w.Run(stop) })
	}
	return g.Wait()
}
