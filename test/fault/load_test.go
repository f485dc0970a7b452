package fault_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/test/harness"
)

// quiet is the state that undisturbed returns.
var quiet harness.State

// undisturbed returns the state after the sessions without faults. The first call forms them for a separate tenant of
// the shared system, while all its parts run.
func undisturbed(t *testing.T, sessions []dataset.Session) harness.State {
	t.Helper()
	if quiet != nil {
		return quiet
	}
	const tenant = tenantUndisturbed
	sys := system(t)
	sys.Publish(t, tenant, sessions...)
	want := harness.Quiet(t, tenant, sys.Client(tenant), sessions)
	if deadLetters := sys.DeadLetters(t, tenant+"/"); len(deadLetters) != 0 {
		t.Fatalf("%d dead letters", len(deadLetters))
	}
	if instructive(t, want); t.Failed() {
		t.FailNow()
	}
	quiet = want
	return want
}

// instructive checks that the conversations produce every kind of data that could be lost or doubled.
func instructive(t *testing.T, s harness.State) {
	t.Helper()
	for _, part := range []string{"STATUS_ACTIVE", "STATUS_SUPERSEDED", " v2 ", " recent "} {
		if !s.Has(part) {
			t.Errorf("the undisturbed run leaves nothing with %q", part)
		}
	}
	if t.Failed() {
		for _, line := range s {
			t.Log(line)
		}
	}
}

func known(ids ...string) []harness.Tenant {
	out := make([]harness.Tenant, len(ids))
	for i, id := range ids {
		out[i] = harness.Tenant{ID: id}
	}
	return out
}

// load publishes a tenant's sessions one after the other, and waits for the broker's acknowledgement of each.
type load struct {
	sys    *harness.System
	tenant string
	msgs   [][]bus.Message
}

func newLoad(t *testing.T, sys *harness.System, tenant string, sessions []dataset.Session) *load {
	t.Helper()
	l := &load{sys: sys, tenant: tenant}
	for _, s := range sessions {
		l.msgs = append(l.msgs, harness.Messages(t, harness.Events(tenant, "", s)...))
	}
	return l
}

// start publishes in the background. It pauses at each of the places until goOn is called. It waits for an
// unavailable broker, so the order stays. wait returns when all sessions are published.
func (l *load) start(places ...int) (goOn func(), wait func(*testing.T)) {
	result, allowed := make(chan error, 1), make(chan struct{}, len(places))
	go func() { result <- l.publish(places, allowed) }()
	wait = func(t *testing.T) {
		t.Helper()
		if err := <-result; err != nil {
			t.Fatalf("publish: %v", err)
		}
	}
	return func() { allowed <- struct{}{} }, wait
}

func (l *load) publish(places []int, allowed <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	from := 0
	for _, to := range places {
		select {
		case <-allowed:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, msgs := range l.msgs[from:to] {
			if err := l.sys.TryPublish(ctx, msgs...); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}
