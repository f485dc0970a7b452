//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/servers"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/test/harness"
)

const (
	speakers = 4
	// formedEach is how many sessions of each speaker are formed before a node dies, and again afterwards.
	formedEach = 2
)

// TestNodesOfTemporalDie kills a frontend, and then a history, while sessions are formed. What they lead to has to be what the same
// sessions lead to where nothing dies.
func TestNodesOfTemporalDie(t *testing.T) {
	began := time.Now()
	temporal := startTemporal(t)
	service := newBalancer(t)
	for _, f := range temporal.Frontends {
		service.add(f.Addr())
	}
	const struck, calmTenant = "struck", "calm"
	workflows := wiring.Workflows{Addr: service.addr(), Namespace: "mneme"}
	harness.Await(t, "there is a namespace", func(ctx context.Context) (bool, error) {
		return wiring.Migration{Workflows: workflows}.RegisterNamespace(ctx, 24*time.Hour, newTelemetry(t)) == nil, nil
	})
	sys := harness.Start(t, harness.Options{
		Tenants: []harness.Tenant{{ID: struck}, {ID: calmTenant}},
		Environ: map[string]string{"MNEME_TEMPORAL_ADDR": workflows.Addr, "MNEME_TEMPORAL_NAMESPACE": workflows.Namespace},
	})
	clients := make([]*client, speakers)
	for i := range clients {
		clients[i] = startClient(t, "session of "+user(i), func(ctx context.Context, n int) error {
			return form(ctx, t, sys, struck, spoken(i, n))
		})
	}
	goOnBy(t, formedEach, clients...)
	for _, victim := range []*servers.Temporal{temporal.Frontends[0], temporal.Histories[0]} {
		must(t, victim.Kill())
		goOnBy(t, formedEach, clients...)
		must(t, victim.Restart(t.Context()))
		goOnBy(t, formedEach, clients...)
	}
	for i, c := range clients {
		c.report(t)
		var all []dataset.Session
		for n := range c.made {
			all = append(all, spoken(i, n))
		}
		sys.AwaitFormed(t, struck, all...)
		sys.Publish(t, calmTenant, all...)
	}
	for i, c := range clients {
		for n := range c.made {
			sys.AwaitFormed(t, calmTenant, spoken(i, n))
		}
		want, got := remembered(t, sys, calmTenant, user(i)), remembered(t, sys, struck, user(i))
		t.Logf("%s: %d sessions formed, %d memories", user(i), c.made, len(got))
		if !slices.Equal(want, got) {
			t.Errorf("%s has other memories than where nothing died:\n%s\nwant\n%s", user(i), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if letters := sys.DeadLetters(t, struck+"/"); len(letters) != 0 {
		t.Errorf("%d dead letters, the first because of %q", len(letters), letters[0].GetReason())
	}
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

func startTemporal(t *testing.T) *servers.TemporalCluster {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o711)) // PostgreSQL may run as another user
	temporal, err := servers.StartTemporalCluster(t.Context(), servers.Options{Dir: dir, Log: t.Output()})
	must(t, err)
	t.Cleanup(func() { must(t, temporal.Stop(context.WithoutCancel(t.Context()))) })
	return temporal
}

// remembered are a user's memories, a line each, without what derives from the tenant.
func remembered(t *testing.T, sys *harness.System, tenant, user string) []string {
	t.Helper()
	var out []string
	for _, e := range sys.Snapshot(t, tenant, user) {
		out = append(out, fmt.Sprintf("v%d %s %s %q from %v after %d", e.Version, e.Status, e.Kind, e.Content, e.Sources, len(e.Predecessors)))
	}
	slices.Sort(out)
	return out
}

func user(i int) string { return fmt.Sprint("u", i) }

// spoken is a speaker's n-th session: something new, and something that replaces what the one before said.
func spoken(i, n int) dataset.Session {
	cities := []string{"Ghent", "Turku", "Split", "Graz", "Cork", "Bergen", "Utrecht"}
	pets := []string{"Biscuit", "Maple", "Comet", "Pepper", "Olive"}
	at := time.Date(2020, time.March, 3, 18, 0, 0, 0, time.UTC).AddDate(0, 0, n) // years before the filter takes a time for one to come
	return harness.Talk(user(i), fmt.Sprint("s", n), harness.Lives(i).Name, at,
		"I live in "+cities[(i+n)%len(cities)]+" now.", fmt.Sprintf("I have a dog called %s%d.", pets[(i+n)%len(pets)], n))
}

// form publishes a session and waits until it is formed. What fails meanwhile is waited for: the client's is the time that it all takes.
func form(ctx context.Context, t *testing.T, sys *harness.System, tenant string, s dataset.Session) error {
	if err := sys.TryPublish(ctx, harness.Messages(t, harness.Events(tenant, "", s)...)...); err != nil {
		return err
	}
	c := sys.Client(tenant)
	tick := time.NewTicker(everyCall)
	defer tick.Stop()
	for {
		got, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
		if err == nil && got.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %s of %s is not formed: %w", s.ID, s.User, ctx.Err())
		case <-tick.C:
		}
	}
}
