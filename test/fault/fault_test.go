package fault_test

import (
	"testing"

	"github.com/mneme-memory/mneme/test/harness"
)

// Every case has a separate tenant, with the name of the broken part.
const (
	tenantWeaviate = "weaviate"
	tenantTemporal = "temporal"
	tenantRedis    = "redis"
	tenantKafka    = "kafka"
)

func TestNothingIsLostOrDoubled(t *testing.T) {
	sessions := talks()
	want := undisturbed(t, sessions)
	sys := harness.Start(t, harness.Options{Processes: true, Tenants: known(
		tenantWeaviate, tenantTemporal, tenantRedis, tenantKafka, harness.Filter, harness.Booster, harness.Utilizer, harness.Reranker,
	)})
	for _, c := range append(serverOutages(sys), serviceOutages(sys)...) {
		t.Run(c.tenant, func(t *testing.T) { c.run(t, sys, sessions, want) })
	}
}
