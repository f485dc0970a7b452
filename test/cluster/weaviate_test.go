//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/test/harness"
)

// bankSettings are those of what keeps memories.
type bankSettings struct {
	Bank      weaviate.Config
	Model     wiring.Model
	Embedding wiring.Embedding
}

// TestANodeOfWeaviateDies kills one of three nodes while sessions are formed and recalled. Back again, it has to get what it missed, and
// what was erased meanwhile must not come back with it.
func TestANodeOfWeaviateDies(t *testing.T) {
	began := time.Now()
	nodes, err := servers.StartWeaviateCluster(t.Context(), servers.Options{Dir: t.TempDir(), Log: t.Output()}, 3)
	must(t, err)
	t.Cleanup(func() {
		for _, n := range nodes {
			must(t, n.Stop(context.WithoutCancel(t.Context())))
		}
	})
	t.Logf("three nodes are ready after %s", time.Since(began).Round(time.Second))
	rest, grpc := newBalancer(t), newBalancer(t)
	join := func(n *servers.Weaviate) {
		rest.add(n.HTTP())
		grpc.add(n.GRPC())
	}
	for _, n := range nodes {
		join(n)
	}
	environ := map[string]string{
		"MNEME_WEAVIATE_HTTP": rest.addr(), "MNEME_WEAVIATE_GRPC": grpc.addr(), "MNEME_WEAVIATE_REPLICAS": "3",
	}
	const tenant, gone = "struck", "gone"
	sys := harness.Start(t, harness.Options{Tenants: []harness.Tenant{{ID: tenant}}, Environ: environ})
	for _, s := range append(harness.Conversation(gone, harness.Lives(4)), harness.Conversation("asked", harness.Lives(3))...) {
		must(t, form(t.Context(), t, sys, tenant, s))
	}
	var speaking []*client
	for i := range speakers {
		speaking = append(speaking, startClient(t, "session of "+user(i), func(ctx context.Context, n int) error {
			return form(ctx, t, sys, tenant, spoken(i, n))
		}))
	}
	asking := startClient(t, "recall", recalls(sys, tenant, "asked"))
	goOnBy(t, formedEach, speaking...)
	goOn(t, asking)

	clustered := openBank(t, environ)
	victim := nodes[0]
	must(t, victim.Kill())
	rest.withdraw(victim.HTTP())
	grpc.withdraw(victim.GRPC())
	goOnBy(t, formedEach, speaking...)
	goOn(t, asking)
	harness.Await(t, "a user is erased", func(ctx context.Context) (bool, error) {
		return clustered.Erase(ctx, memory.Scope{Tenant: tenant, User: gone}) == nil, nil
	})
	must(t, victim.Restart(t.Context()))
	back := time.Now()
	join(victim)
	goOnBy(t, formedEach, speaking...)
	goOn(t, asking)
	for _, c := range append(speaking, asking) {
		c.report(t)
	}

	var banks []bank.Bank
	for _, n := range nodes {
		banks = append(banks, openBank(t, map[string]string{"MNEME_WEAVIATE_HTTP": n.HTTP(), "MNEME_WEAVIATE_GRPC": n.GRPC()}))
	}
	users := []string{gone, "asked"}
	for i := range speakers {
		users = append(users, user(i))
	}
	var differ string
	deadline := time.Now().Add(2 * time.Minute)
	for tick := time.NewTicker(time.Second); ; <-tick.C {
		if differ = differences(t, banks, tenant, users); differ == "" || time.Now().After(deadline) {
			tick.Stop()
			break
		}
	}
	if differ != "" {
		t.Errorf("the nodes do not have the same: %s", differ)
	}
	t.Logf("the node had what it had missed %s after its return", time.Since(back).Round(time.Second))
	for i, b := range banks {
		if n, err := b.Count(t.Context(), memory.Scope{Tenant: tenant, User: gone}); err != nil || n != (bank.Counts{}) {
			t.Errorf("node %d has %+v of a user who was erased while it was away (%v)", i+1, n, err)
		}
	}
	for i, c := range speaking {
		for n := range c.acknowledged {
			sys.AwaitFormed(t, tenant, spoken(i, n))
		}
	}
	if letters := sys.DeadLetters(t, tenant+"/"); len(letters) != 0 {
		t.Errorf("%d dead letters, the first because of %q", len(letters), letters[0].GetReason())
	}
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// differences says what nodes count otherwise than the last one.
func differences(t *testing.T, banks []bank.Bank, tenant string, users []string) string {
	t.Helper()
	var out []string
	for _, u := range users {
		scope := memory.Scope{Tenant: tenant, User: u}
		want, err := banks[len(banks)-1].Count(t.Context(), scope)
		must(t, err)
		for i, b := range banks {
			if got, err := b.Count(t.Context(), scope); err != nil || got != want {
				out = append(out, fmt.Sprintf("of %s node %d counts %+v (%v), want %+v", u, i+1, got, err, want))
			}
		}
	}
	return strings.Join(out, "; ")
}

func openBank(t *testing.T, environ map[string]string) bank.Bank {
	t.Helper()
	cfg, err := config.Load[bankSettings](environ)
	must(t, err)
	tel := newTelemetry(t)
	e, free, err := cfg.Embedding.Open(t.Context(), cfg.Model, tel)
	must(t, err)
	b, closeBank, err := wiring.OpenBank(t.Context(), cfg.Bank, e, tel)
	must(t, err)
	t.Cleanup(func() {
		must(t, closeBank())
		must(t, free())
	})
	return b
}
