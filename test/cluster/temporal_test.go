//go:build cluster

package cluster_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/test/harness"
	testservers "github.com/mneme-memory/mneme/test/servers"
)

// TestNodesOfTemporalDie kills a frontend and then a history node while sessions are formed. The result must equal
// the result of the same sessions without deaths.
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
	clients := startSpeakers(t, sys, struck)
	goOnBy(t, formedEach, clients...)
	for _, victim := range []*servers.Temporal{temporal.Frontends[0], temporal.Histories[0]} {
		must(t, victim.Kill())
		goOnBy(t, formedEach, clients...)
		must(t, victim.Restart(t.Context()))
		goOnBy(t, formedEach, clients...)
	}
	for _, c := range clients {
		c.report(t, bounds{pause: 90 * time.Second})
	}
	sameAsCalm(t, sys, struck, calmTenant, said(clients))
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

func startTemporal(t *testing.T) *testservers.TemporalCluster {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o711)) // PostgreSQL may run as another user
	temporal, err := testservers.StartTemporalCluster(t.Context(), process.Options{Dir: dir, Log: t.Output()})
	must(t, err)
	t.Cleanup(func() { must(t, temporal.Stop(context.WithoutCancel(t.Context()))) })
	return temporal
}
