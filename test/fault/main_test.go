// Package fault_test breaks one part at a time while memories are formed. It shows that no data is lost and none is
// doubled. In the end every bank equals the bank of a run without faults.
package fault_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/test/harness"
)

// Tenants of the shared system. Each outage has a separate tenant, with the name of the broken part.
const (
	tenantWeaviate    = "weaviate"
	tenantTemporal    = "temporal"
	tenantRedis       = "redis"
	tenantKafka       = "kafka"
	tenantErase       = "eraser"
	tenantUndisturbed = "undisturbed"
)

// dir holds the data of the shared system.
var dir string

// opened starts the system that all tests except the tests of `mneme up` share. Its services are processes. Every test
// leaves all parts running.
var opened = sync.OnceValues(func() (*harness.System, error) {
	return harness.Open(context.Background(), dir, harness.Options{Processes: true, Tenants: known(
		tenantWeaviate, tenantTemporal, tenantRedis, tenantKafka, harness.Filter, harness.Booster, harness.Utilizer,
		harness.Reranker,
		tenantErase, tenantUndisturbed,
	)})
})

// used reports whether a test has opened the shared system.
var used bool

// system returns the shared system.
func system(t *testing.T) *harness.System {
	t.Helper()
	used = true
	sys, err := opened()
	if err != nil {
		t.Fatalf("start system: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(sys.Complaints())
		}
	})
	return sys
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if dir, err = os.MkdirTemp("", "mneme-fault-"); err != nil {
		return fail("make directory", err)
	}
	defer os.RemoveAll(dir)
	code = m.Run()
	if used {
		if sys, err := opened(); err == nil {
			if err := sys.Close(); err != nil {
				return fail("stop system", err)
			}
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		return fail("after the end", err)
	}
	return code
}

func fail(what string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return 1
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
