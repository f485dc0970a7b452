// Package fault_test breaks one part at a time while memories are formed. It shows that no data is lost and none is
// doubled. In the end every bank equals the bank of a run without faults.
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
	// patience is the time limit of every wait.
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
