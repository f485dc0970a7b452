package booster

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"
)

// workers keeps Temporal workers running.
type workers struct {
	// create makes new workers, because a stopped worker cannot start again.
	create func() []worker.Worker
	log    *slog.Logger
}

// run runs the workers until ctx ends. They finish their current work then. A worker cannot start while Temporal is
// unavailable. It stops if Temporal no longer has the namespace, for example after a restore. Neither case may end
// the service or leave it idle, so all workers start again after a while.
func (w workers) run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 250*time.Millisecond, 15*time.Second
	for {
		all := w.create()
		if len(all) == 0 {
			return nil // the process has no role that needs a worker
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
		w.log.Warn("temporal workers ended, restarting them", "retry_in", next.String(), "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// runAll runs workers until ctx ends or one worker ends, and waits for all.
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
