//go:build cluster

package cluster_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/test/harness"
	testservers "github.com/mneme-memory/mneme/test/servers"
)

// bankSettings are the settings of the services that store memories.
type bankSettings struct {
	Bank      weaviate.Config
	Model     wiring.Model
	Embedding wiring.Embedding
}

// TestANodeOfWeaviateDies kills one of three nodes while sessions are formed and recalled. When the node is back, it
// must get the missed writes. Data that was erased meanwhile must not return with it.
func TestANodeOfWeaviateDies(t *testing.T) {
	began := time.Now()
	nodes, err := testservers.StartWeaviateCluster(t.Context(), process.Options{Dir: t.TempDir(), Log: t.Output()}, 3)
	must(t, err)
	t.Cleanup(func() { stopAll(t, nodes...) })
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
	const tenant, calmTenant, gone = "struck", "calm", "gone"
	sys := harness.Start(t, harness.Options{Tenants: []harness.Tenant{{ID: tenant}, {ID: calmTenant}}, Environ: environ})
	for _, s := range append(harness.Conversation(gone, harness.Lives(4)),
		harness.Conversation("asked", harness.Lives(3))...) {
		must(t, form(t.Context(), sys, tenant, s))
	}
	speaking := startSpeakers(t, sys, tenant)
	others := []*client{startClient(t, "recall", recalls(sys, tenant, "asked")),
		startClient(t, "readiness", readiness(t, sys))}
	goOnBy(t, formedEach, speaking...)
	goOn(t, others...)

	clustered := openBank(t, environ)
	victim := nodes[0]
	must(t, victim.Kill())
	rest.withdraw(victim.HTTP())
	grpc.withdraw(victim.GRPC())
	goOnBy(t, formedEach, speaking...)
	goOn(t, others...)
	harness.Await(t, "a user is erased", func(ctx context.Context) (bool, error) {
		return clustered.Erase(ctx, memory.Scope{Tenant: tenant, User: gone}) == nil, nil
	})
	must(t, victim.Restart(t.Context()))
	back := time.Now()
	join(victim)
	goOnBy(t, formedEach, speaking...)
	goOn(t, others...)
	for _, c := range slices.Concat(speaking, others) {
		c.report(t, bounds{pause: 45 * time.Second})
	}
	sameAsCalm(t, sys, tenant, calmTenant, said(speaking))

	var banks []bank.Bank
	for _, n := range nodes {
		banks = append(banks, openBank(t, map[string]string{"MNEME_WEAVIATE_HTTP": n.HTTP(),
			"MNEME_WEAVIATE_GRPC": n.GRPC()}))
	}
	users := []string{gone, "asked"}
	for i := range speakers {
		users = append(users, user(i))
	}
	var differ string
	deadline := time.Now().Add(2 * time.Minute)
	for tick := time.NewTicker(time.Second); ; <-tick.C {
		if differ = differences(t.Context(), banks, tenant, users); differ == "" || time.Now().After(deadline) {
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
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// readiness checks the utilizer as a kubelet does.
func readiness(t *testing.T, sys *harness.System) func(context.Context, int) error {
	url := sys.URL(t, harness.Utilizer) + "/readyz"
	return func(ctx context.Context, _ int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := sys.HTTP().Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	}
}

// differences describes the data in which nodes differ from the last node. Each node answers reads from its local
// data.
func differences(ctx context.Context, banks []bank.Bank, tenant string, users []string) string {
	var out []string
	for _, u := range users {
		scope := memory.Scope{Tenant: tenant, User: u}
		want, err := keptOf(ctx, banks[len(banks)-1], scope)
		if err != nil {
			out = append(out, err.Error())
		}
		for i, b := range banks[:len(banks)-1] {
			got, err := keptOf(ctx, b, scope)
			if d := want.Diff(got); d != "" || err != nil {
				out = append(out, fmt.Sprintf("of %s node %d has (%v)\n%s", u, i+1, err, d))
			}
		}
	}
	return strings.Join(out, "\n")
}

// keptOf returns all data of a user, one item per line.
func keptOf(ctx context.Context, b bank.Bank, scope memory.Scope) (out harness.State, err error) {
	keep := func(v any, failed error) {
		line, broken := json.Marshal(v)
		err = cmp.Or(err, failed, broken)
		out = append(out, string(line))
	}
	for v, err := range bank.EachMemory(ctx, b, scope, bank.ListOptions{}) {
		keep(v, err)
	}
	for v, err := range bank.EachTurn(ctx, b, scope, bank.PageOptions{}) {
		keep(v, err)
	}
	for v, err := range bank.EachSession(ctx, b, scope, bank.PageOptions{}) {
		keep(v, err)
	}
	keep(b.Count(ctx, scope)) // includes versions of the core block, which itself is read from a majority
	return out, err
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
		must(t, errors.Join(closeBank(), free()))
	})
	return b
}
