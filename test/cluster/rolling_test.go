//go:build cluster

package cluster_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/test/harness"
)

// TestAllServicesAreReplacedWhileTheyWork replaces both replicas of every component, all components at once, under
// traffic. First it replaces them in order, without any effect on clients. Then it replaces them without notice,
// which fails some calls but loses no accepted data.
func TestAllServicesAreReplacedWhileTheyWork(t *testing.T) {
	const graceful, killed, calm = "graceful", "killed", "-undisturbed"
	replicas := map[string]int{}
	for name := range components {
		if name != harness.Booster {
			replicas[name] = 2
		}
	}
	c := newCluster(t, []harness.Tenant{{ID: graceful}, {ID: killed}, {ID: graceful + calm}, {ID: killed + calm}},
		replicas)
	for _, way := range []struct {
		tenant        string
		end           func(*pod) error
		least, spoilt int // calls of each kind: lowest number, and highest failures in a hundred
		// still is the longest allowed standstill of a group. The embedded broker restarts its wait with every
		// joining member, and a member joins again after a timeout. TestAllReadersOfAGroupDie measures the behaviour
		// of Apache Kafka.
		still time.Duration
	}{
		{graceful, (*pod).terminate, 200, 0, longestHandover}, {killed, (*pod).crash, 50, 20, patience},
	} {
		t.Run(way.tenant, func(t *testing.T) {
			seed := talk("asked", 0, 0)
			c.Publish(t, way.tenant, seed)
			c.AwaitFormed(t, way.tenant, seed)
			all := slices.Sorted(maps.Keys(groups))
			watch, clients := watchHandovers(t, []string{c.Servers.Broker.Addr()}, all...),
				startTraffic(t, c, way.tenant, seed.User)
			began := time.Now()
			err := c.all(func(d *deployment) error { return d.replace(way.end) })
			took := time.Since(began)
			sessions := clients.end()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("both replicas of %d components were replaced in %v", len(c.deployments), took.Round(time.Second))
			clients.report(t, way.least, way.spoilt)
			awaitFormed(t, c.Client(way.tenant), sessions)
			watch.report(t, way.still)
			t.Logf("the slowest end after SIGTERM was that of %s: %v, of which %v are waited, in a grace period of %v", c.slow,
				c.slowest.Round(100*time.Millisecond), seconds(c.chart.Drain.Delay), c.chart.grace())
			sameAsCalm(t, c.System, way.tenant, way.tenant+calm, sessions)
		})
	}
}
