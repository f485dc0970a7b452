// Package servertest has the parts that tests of single servers share.
package servertest

import (
	"context"
	"testing"
	"time"
)

// limit limits one test; a cold start on a busy machine is slow.
const limit = 4 * time.Minute

// Context returns a context that ends with the test, or earlier at the limit of one test.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// Stopper is a server, or several, that a test stops.
type Stopper interface {
	// Stop ends the server.
	Stop(ctx context.Context) error
}

// StopAtEnd stops a server when the test ends.
func StopAtEnd(t *testing.T, s Stopper) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

// Ender is a server that reports the end of its run.
type Ender interface {
	// Done is closed when the run has ended.
	Done() <-chan struct{}
	// Err is nil after a wanted end.
	Err() error
}

// MustEnd checks that a run's channel is closed, and that the end counts as wanted.
func MustEnd(ctx context.Context, t *testing.T, s Ender) {
	t.Helper()
	select {
	case <-s.Done():
	case <-ctx.Done():
		t.Fatal("the server has not ended")
	}
	if err := s.Err(); err != nil {
		t.Errorf("a wanted end is reported as an error: %v", err)
	}
}
