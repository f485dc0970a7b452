package booster

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"
)

// fakeWorker is a worker that fails on demand, and otherwise works until it is interrupted.
type fakeWorker struct {
	worker.Worker
	fail        error
	working     chan<- struct{}
	interrupted chan<- struct{}
}

func (h fakeWorker) Run(interrupt <-chan any) error {
	h.working <- struct{}{}
	if h.fail != nil {
		return h.fail
	}
	<-interrupt
	h.interrupted <- struct{}{}
	return nil
}

// TestWorkersBeginAnew ends one of two workers. Both must be replaced, and the new ones must end only on request.
func TestWorkersBeginAnew(t *testing.T) {
	working, interrupted := make(chan struct{}, 4), make(chan struct{}, 4)
	generation := 0
	w := workers{log: slog.New(slog.DiscardHandler), create: func() []worker.Worker {
		generation++
		var fail error
		if generation == 1 {
			fail = errors.New("namespace not found")
		}
		return []worker.Worker{
			fakeWorker{working: working, interrupted: interrupted},
			fakeWorker{fail: fail, working: working, interrupted: interrupted},
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	for range 4 {
		<-working
	}
	<-interrupted // the other one of the first two
	if len(interrupted) != 0 || len(ended) != 0 {
		t.Fatal("the second two do not work on")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(interrupted) != 2 {
		t.Errorf("%d workers of the second two were interrupted, want both", len(interrupted))
	}
}

// TestNoWorkersAreNoOutage runs a process without a role for Temporal: it has no worker to restart.
func TestNoWorkersAreNoOutage(t *testing.T) {
	var said strings.Builder
	w := workers{log: slog.New(slog.NewTextHandler(&said, nil)), create: func() []worker.Worker { return nil }}
	if err := w.run(t.Context()); err != nil || said.Len() > 0 {
		t.Errorf("%v, and it is logged: %s", err, said.String())
	}
}
