//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/test/harness"
	"github.com/mneme-memory/mneme/test/servers"
)

// TestAllReadersOfAGroupDie kills all replicas of the filter. First it kills them at the same time, then each during
// the rebalance that its successor started. It starts new replicas at once. Apache Kafka assigns them no partition
// until the sessions of the killed replicas have expired.
func TestAllReadersOfAGroupDie(t *testing.T) {
	const tenant, replicas = "read", 2
	broker, err := servers.StartJavaKafka(t.Context(),
		servers.KafkaOptions{Options: process.Options{Dir: t.TempDir(), Log: t.Output()}})
	must(t, err)
	t.Cleanup(func() { stopAll(t, broker) })
	tenants := &harness.System{Servers: &harness.Servers{Dir: t.TempDir()}}
	must(t, tenants.AddTenants(harness.Tenant{ID: tenant}))
	environ := map[string]string{
		"MNEME_KAFKA_BROKERS": broker.Addr(), "MNEME_KAFKA_PARTITIONS": "4", "MNEME_KAFKA_REPLICAS": "1",
		"MNEME_TENANTS_FILE": tenants.Servers.TenantsFile(),
	}
	cfg, err := config.Load[wiring.Bus](environ)
	must(t, err)
	must(t, wiring.Migration{Bus: cfg}.Topics(t.Context(), "migrate"))
	opened, err := cfg.Open(t.Context(), "test", newTelemetry(t))
	must(t, err)
	t.Cleanup(func() { must(t, opened.Close()) })
	programs, err := harness.Programs(t.Context())
	must(t, err)
	var all []*harness.Process
	start := func() *harness.Process {
		addr, err := harness.FreeAddr()
		must(t, err)
		environ["MNEME_HTTP_ADDR"] = addr
		name := fmt.Sprintf("%s-%d", harness.Filter, len(all))
		p := harness.NewProcess(name, filepath.Join(programs, harness.Filter), addr,
			filepath.Join(tenants.Servers.Dir, name+".log"), environ)
		must(t, p.Start())
		t.Cleanup(func() { must(t, p.Kill(context.WithoutCancel(t.Context()))) })
		all = append(all, p)
		return p
	}
	start()
	start()
	for _, together := range []bool{true, false} {
		awaitWorking(t, broker.Addr(), filterGroup, replicas)
		watch := watchHandovers(t, []string{broker.Addr()}, filterGroup)
		speaking := startClient(t, "publish", func(ctx context.Context, n int) error {
			msgs, err := harness.Encode(harness.Events(tenant, "", spoken(n%people, n/people))...)
			if err != nil {
				return err
			}
			return opened.Publisher.Publish(ctx, msgs...)
		})
		goOn(t, speaking)
		for _, old := range all[len(all)-replicas:] {
			if !together {
				start() // the group admits it when the next one dies
			}
			must(t, old.Kill(t.Context()))
		}
		if together {
			start()
			start()
		}
		goOn(t, speaking)
		speaking.report(t, bounds{pause: 30 * time.Second})
		left := watchGroup(t, []string{broker.Addr()}, filterGroup)
		harness.Await(t, "all is read", func(ctx context.Context) (bool, error) {
			err := left.look(ctx)
			return err == nil && left.behind() == 0, nil
		})
		t.Logf("replicas died at the same time: %v", together)
		watch.report(t, time.Minute)
	}
}
