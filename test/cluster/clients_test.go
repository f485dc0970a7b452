//go:build cluster

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/test/harness"
)

const (
	// everyCall is the pause between two calls of a store's client.
	everyCall = 10 * time.Millisecond
	// callEnds is the timeout of a call, and of the tests' wait for further successes.
	callEnds = 3 * time.Minute
	// calm is the number of calls that must succeed before a node dies, and again afterwards.
	calm = 50
)

// client repeats one kind of call, one at a time, and records the outcomes.
type client struct {
	name string
	stop context.CancelFunc
	done sync.WaitGroup

	mu           sync.Mutex
	made         int
	acknowledged map[int]time.Time // times of successful calls, by number
	last         time.Time
	pause        time.Duration // longest time between two successful calls
	failures     map[string]int
}

// startClient makes calls, numbered from 0, until the client or the test ends.
func startClient(t *testing.T, name string, call func(ctx context.Context, n int) error) *client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := &client{name: name, stop: stop, acknowledged: map[int]time.Time{}, failures: map[string]int{}}
	t.Cleanup(c.end)
	c.done.Go(func() {
		tick := time.NewTicker(everyCall)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			c.note(ctx, n, call)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return c
}

func (c *client) note(ctx context.Context, n int, call func(context.Context, int) error) {
	limited, cancel := context.WithTimeout(ctx, callEnds)
	defer cancel()
	err := call(limited, n)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	switch {
	case err == nil:
		if !c.last.IsZero() {
			c.pause = max(c.pause, now.Sub(c.last))
		}
		c.last, c.acknowledged[n] = now, now
	case ctx.Err() == nil:
		text := strings.Join(strings.Fields(err.Error()), " ")
		c.failures[text[:min(len(text), 160)]]++
	}
}

func (c *client) succeeded() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acknowledged)
}

// end stops the calls. It may be called again.
func (c *client) end() {
	c.stop()
	c.done.Wait()
}

// bounds limit the effects of dying nodes on a client. The limits of pauses are generous, because the machine may be
// busy.
type bounds struct {
	failed int
	pause  time.Duration
}

// report ends the client, prints its results and compares them with bounds.
func (c *client) report(t *testing.T, limit bounds) {
	t.Helper()
	c.end()
	failed := 0
	for _, n := range c.failures {
		failed += n
	}
	t.Logf("%-16s %d calls, %d failed, longest time between two that succeeded %s", c.name, c.made, failed,
		c.pause.Round(time.Millisecond))
	for _, text := range slices.Sorted(maps.Keys(c.failures)) {
		t.Logf("%-16s   %d times: %s", "", c.failures[text], text)
	}
	if failed > limit.failed || c.pause > limit.pause {
		t.Errorf("%s: %d failed, want at most %d; longest time between two that succeeded %s, want at most %s", c.name,
			failed, limit.failed,
			c.pause.Round(time.Millisecond), limit.pause)
	}
}

// goOn waits until each client has calm further successes.
func goOn(t *testing.T, clients ...*client) {
	t.Helper()
	goOnBy(t, calm, clients...)
}

func goOnBy(t *testing.T, more int, clients ...*client) {
	t.Helper()
	for _, c := range clients {
		want := c.succeeded() + more
		ctx, cancel := context.WithTimeout(t.Context(), callEnds)
		for tick := time.NewTicker(everyCall); c.succeeded() < want; {
			select {
			case <-ctx.Done():
				t.Errorf("%s does not go on: %d of %d calls, %v", c.name, c.succeeded(), want, c.failures)
				cancel()
				tick.Stop()
				return
			case <-tick.C:
			}
		}
		cancel()
	}
}

// recalls sends the same question to a utilizer. A degraded answer counts as a failure.
func recalls(sys *harness.System, tenant, user string) func(context.Context, int) error {
	utilizers := sys.Client(tenant)
	return func(ctx context.Context, _ int) error {
		got, err := utilizers.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{
			UserId: user, Query: "Where do I live?", Candidates: 20, Memories: 5, WordBudget: 400,
		}))
		switch {
		case err != nil:
			return err
		case len(got.Msg.GetDegraded()) > 0:
			return fmt.Errorf("answers without all: %v", got.Msg.GetDegraded())
		case len(got.Msg.GetCited()) == 0:
			return fmt.Errorf("recalls nothing")
		}
		return nil
	}
}

type stopper interface {
	Stop(ctx context.Context) error
}

// stopAll stops all nodes, even after errors.
func stopAll[N stopper](t *testing.T, nodes ...N) {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.Stop(context.WithoutCancel(t.Context())))
	}
	must(t, errors.Join(errs...))
}

// must ends the test after an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newTelemetry(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "test", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, io.Discard)
	must(t, err)
	t.Cleanup(func() { _ = tel.Shutdown(context.WithoutCancel(t.Context())) })
	return tel
}
