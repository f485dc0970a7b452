//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/test/harness"
)

// TestBoostersAreScaledInTheMiddleOfABackfill scales boosters from one to four and back to one. Many users' sessions
// wait, and more arrive. The result must equal the result of a single booster.
func TestBoostersAreScaledInTheMiddleOfABackfill(t *testing.T) {
	const tenant, calm = "scaled", "unscaled"
	c := newCluster(t, []harness.Tenant{{ID: tenant}, {ID: calm}}, map[string]int{
		harness.Utilizer: 1, harness.Reranker: 1, harness.Gateway: 1, harness.Filter: 1, harness.Booster: 1,
	})
	boosters := c.deployments[slices.IndexFunc(c.deployments, func(d *deployment) bool {
		return d.name == harness.Booster
	})]
	addr, client := c.Servers.Broker.Addr(), c.Client(tenant)
	// no client recalls
	read := slices.DeleteFunc(slices.Sorted(maps.Keys(groups)), func(g string) bool { return g == "mneme-reranker" })
	watch, intake := watchHandovers(t, []string{addr}, read...), watchGroup(t, []string{addr}, boosterGroup)
	began := time.Now()
	fill := c.backfill(t, tenant)
	harness.Await(t, "the first sessions are formed", func(ctx context.Context) (bool, error) {
		return harness.Formed(client, fill.round(0)[:1])(ctx) > 0, nil
	})
	for _, replicas := range []int{4, 1} {
		harness.Await(t, "there is a backlog", func(ctx context.Context) (bool, error) {
			err := intake.look(ctx)
			return err == nil && intake.behind() > 0, nil
		})
		began, waiting := time.Now(), fill.waiting(t, client)
		if err := boosters.scale(replicas); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d boosters after %v, begun when %d records waited and %d of the last %d sessions were not formed yet",
			replicas,
			time.Since(began).Round(100*time.Millisecond), intake.behind(), waiting, people)
		if waiting == 0 {
			t.Error("nothing waited any more: the backfill is too small")
		}
		awaitWorking(t, addr, boosterGroup, replicas)
		boosters.pods = append(boosters.pods[1:], boosters.pods[0]) // so that the oldest is among the stopped ones
	}
	t.Logf("the slowest end after SIGTERM was that of %s: %v", c.slow, c.slowest.Round(100*time.Millisecond))
	sessions := fill.end()
	awaitFormed(t, client, sessions)
	t.Logf("all formed after %v", time.Since(began).Round(time.Second))
	watch.report(t, longestHandover)
	sameAsCalm(t, c.System, tenant, calm, sessions)
}

const (
	people = 24
	// rounds is the number of each user's sessions that are published at once.
	rounds = 6
	// more is the interval between later sessions of all users.
	more = 3 * time.Second
)

// backfill publishes many users' sessions: some at once, and then more until it ends.
type backfill struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu        sync.Mutex
	published [][]dataset.Session // by round
}

func (c *cluster) backfill(t *testing.T, tenant string) *backfill {
	t.Helper()
	over, stop := context.WithCancel(context.Background())
	f := &backfill{stop: stop}
	for range rounds {
		must(t, f.publish(c, tenant))
	}
	f.done.Go(func() {
		tick := time.NewTicker(more)
		defer tick.Stop()
		for {
			select {
			case <-over.Done():
				return
			case <-tick.C:
				if err := f.publish(c, tenant); err != nil {
					t.Error(err)
				}
			}
		}
	})
	t.Cleanup(func() { f.end() })
	return f
}

// publish publishes a session of each user.
func (f *backfill) publish(c *cluster, tenant string) error {
	round := len(f.published)
	var sessions []dataset.Session
	var events []contract.SessionEvent
	for n := range people {
		s := talk(fmt.Sprintf("person-%d", n), n, round)
		sessions, events = append(sessions, s), append(events, harness.Events(tenant, "", s)...)
	}
	msgs, err := harness.Encode(events...)
	if err != nil {
		return err
	}
	if err := c.TryPublish(context.Background(), msgs...); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.published = append(f.published, sessions)
	return nil
}

func (f *backfill) round(n int) []dataset.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.published[n]
}

// waiting is the number of unformed sessions among the last published ones.
func (f *backfill) waiting(t *testing.T, client harness.Client) int {
	f.mu.Lock()
	last := f.published[len(f.published)-1]
	f.mu.Unlock()
	return len(last) - harness.Formed(client, last)(t.Context())
}

// end stops the backfill and returns all sessions.
func (f *backfill) end() []dataset.Session {
	f.stop()
	f.done.Wait()
	return slices.Concat(f.published...)
}
