//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/test/harness"
)

// TestBoostersAreScaledInTheMiddleOfABackfill takes boosters from one to four and back to one while many people's sessions wait, of which
// the second half comes when there are four. It ends as where one booster did all of it.
func TestBoostersAreScaledInTheMiddleOfABackfill(t *testing.T) {
	const tenant, calm, people, rounds = "scaled", "unscaled", 60, 6
	c := newCluster(t, []harness.Tenant{{ID: tenant}, {ID: calm}}, map[string]int{
		harness.Utilizer: 1, harness.Reranker: 1, harness.Gateway: 1, harness.Filter: 1, harness.Booster: 1,
	})
	var boosters *deployment
	for _, d := range c.deployments {
		if d.name == harness.Booster {
			boosters = d
		}
	}
	var byRound [rounds][]dataset.Session
	for round := range rounds {
		for n := range people {
			byRound[round] = append(byRound[round], talk(fmt.Sprintf("person-%d", n), n, round))
		}
	}
	watch, client := watchHandovers(t, []string{c.Servers.Broker.Addr()}), c.Client(tenant)
	var sessions []dataset.Session
	publish := func(of [][]dataset.Session) {
		for _, s := range of {
			c.Publish(t, tenant, s...)
			sessions = append(sessions, s...)
		}
	}
	formed := func(of []dataset.Session, n int) {
		harness.Await(t, "some sessions are formed", func(ctx context.Context) (bool, error) {
			return harness.Formed(ctx, client, of) >= n, nil
		})
	}
	began := time.Now()
	publish(byRound[:rounds/2])
	formed(byRound[0], 1)
	up := time.Now()
	if err := boosters.scale(4); err != nil {
		t.Fatal(err)
	}
	t.Logf("from 1 booster to 4 in %v", time.Since(up).Round(100*time.Millisecond))
	publish(byRound[rounds/2:])
	formed(byRound[rounds/2], 1)
	down, open := time.Now(), len(sessions)-harness.Formed(t.Context(), client, sessions)
	if err := boosters.scale(1); err != nil {
		t.Fatal(err)
	}
	t.Logf("from 4 boosters to 1 in %v, begun when %d of %d sessions were not formed", time.Since(down).Round(100*time.Millisecond), open,
		len(sessions))
	if open == 0 {
		t.Error("nothing waited any more: the backfill is too small")
	}
	c.awaitFormed(t, tenant, sessions)
	t.Logf("all formed after %v", time.Since(began).Round(time.Second))
	watch.reportBelow(t, longestHandover)
	c.settled(t, tenant, calm, sessions)
}
