// Package fault_test breaks things while memories are formed, one at a time, and shows that nothing is lost and
// nothing doubled: in the end every bank is what it is where nothing broke.
package fault_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const (
	// patience is how long anything may take that must happen.
	patience  = time.Minute
	pollEvery = 50 * time.Millisecond
)

var errLate = errors.New("it has not happened in time")

// await polls until the condition holds.
func await(tb testing.TB, what string, condition func(context.Context) bool) {
	tb.Helper()
	if err := until(context.Background(), condition); err != nil {
		tb.Fatalf("waiting until %s: %v", what, err)
	}
}

func until(ctx context.Context, condition func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
