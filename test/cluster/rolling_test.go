//go:build cluster

package cluster_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/test/harness"
)

// TestAllServicesAreReplacedWhileTheyWork replaces both replicas of every component, all components at the same time, while clients speak
// and ask: in order, of which no client notices anything, and then without notice, which costs some calls and nothing that was accepted.
func TestAllServicesAreReplacedWhileTheyWork(t *testing.T) {
	const graceful, killed, calm = "graceful", "killed", "-undisturbed"
	replicas := map[string]int{}
	for name := range components {
		if name != harness.Booster {
			replicas[name] = 2
		}
	}
	c := newCluster(t, []harness.Tenant{{ID: graceful}, {ID: killed}, {ID: graceful + calm}, {ID: killed + calm}}, replicas)
	for _, way := range []struct {
		tenant string
		end    func(*pod) error
		spoilt int           // calls, of a hundred
		still  time.Duration // a group
	}{
		{graceful, (*pod).terminate, 0, longestHandover}, {killed, (*pod).crash, 20, time.Minute},
	} {
		t.Run(way.tenant, func(t *testing.T) {
			seed := talk("asked", 0, 0)
			c.Publish(t, way.tenant, seed)
			c.AwaitFormed(t, way.tenant, seed)
			all := slices.Sorted(maps.Keys(groups))
			watch, clients := watchHandovers(t, []string{c.Servers.Broker.Addr()}, all...), startTraffic(t, c, way.tenant, seed.User)
			began := time.Now()
			err := c.all(func(d *deployment) error { return d.replace(way.end) })
			took := time.Since(began)
			sessions := clients.end()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("both replicas of %d components were replaced in %v", len(c.deployments), took.Round(time.Second))
			clients.report(t, way.spoilt)
			c.awaitFormed(t, way.tenant, sessions)
			watch.report(t, way.still)
			t.Logf("the slowest end after SIGTERM was that of %s: %v, of which %v are waited, in a grace period of %v", c.slow,
				c.slowest.Round(100*time.Millisecond), seconds(c.chart.Drain.Delay), c.chart.grace())
			c.settled(t, way.tenant, way.tenant+calm, sessions)
		})
	}
}

// settled holds a tenant's state, whose sessions are formed, against that of a tenant to whom the same is told when nothing is replaced.
func (c *cluster) settled(t *testing.T, tenant, calm string, sessions []dataset.Session) {
	t.Helper()
	began := time.Now()
	c.Publish(t, calm, sessions...)
	c.awaitFormed(t, calm, sessions)
	took := time.Since(began)
	var want, got harness.State
	var err1, err2 error
	short := time.Now().Add(tailTime)
	harness.Await(t, "the states are read", func(ctx context.Context) (bool, error) {
		want, err1 = harness.ReadState(ctx, calm, c.Client(calm), sessions)
		got, err2 = harness.ReadState(ctx, tenant, c.Client(tenant), sessions)
		same := err1 == nil && err2 == nil && want.Diff(got) == ""
		return same || time.Now().After(short), nil
	})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatalf("read the states: %v", err)
	}
	if d := want.Diff(got); d != "" {
		t.Errorf("the state is not that of the undisturbed tenant:\n%s", d)
	}
	for _, part := range []string{"STATUS_ACTIVE", "STATUS_SUPERSEDED", " v2 ", " recent "} {
		if !want.Has(part) {
			t.Errorf("the undisturbed tenant has nothing with %q", part)
		}
	}
	for _, letter := range c.DeadLetters(t, tenant+"/") {
		t.Errorf("a dead letter: %s", letter.GetReason())
	}
	turns := 0
	for _, s := range sessions {
		turns += len(s.Turns)
	}
	t.Logf("%d turns of %d sessions came to %d lines of state; published at once and undisturbed they were formed in %v", turns, len(sessions),
		len(want), took.Round(time.Second))
}

// tailTime is how much later than its memories a session's turns may leave the working window.
const tailTime = 20 * time.Second

// patience is how long it may take until everything is formed: killed replicas are waited for by consumer groups, and then by Temporal.
const patience = 4 * time.Minute

// awaitFormed waits until sessions are formed, one after the other: each question costs a workflow's worker some work.
func (c *cluster) awaitFormed(t *testing.T, tenant string, sessions []dataset.Session) {
	t.Helper()
	client, began, tick := c.Client(tenant), time.Now(), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for _, s := range sessions {
		for harness.Formed(t.Context(), client, []dataset.Session{s}) == 0 {
			if <-tick.C; time.Since(began) > patience {
				t.Fatalf("session %s of %s is not formed after %v", s.ID, s.User, patience)
			}
		}
	}
	t.Logf("%s: all sessions are formed, waited for %v", tenant, time.Since(began).Round(time.Second))
}
