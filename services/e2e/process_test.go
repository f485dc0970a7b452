package e2e_test

import (
	"testing"

	"github.com/mneme-memory/mneme/services/e2e/harness"
)

func TestAKilledBoosterGoesOnWhereItWas(t *testing.T) {
	sys := harness.Start(t, harness.Options{Processes: true, Tenants: []harness.Tenant{{ID: "acme"}}})
	talk := harness.Conversation("kim", harness.Lives(3))
	sys.Publish(t, "acme", talk[0])
	sys.AwaitFormed(t, "acme", talk[0])
	sys.Kill(t, harness.Booster)
	sys.Publish(t, "acme", talk[1:]...)
	sys.Launch(t, harness.Booster)
	sys.AwaitReady(t, harness.Booster)
	sys.AwaitFormed(t, "acme", talk...)
	if got := len(sys.Snapshot(t, "acme", "kim")); got != 7 {
		t.Fatalf("%d entries, want 7", got)
	}
	sys.Restart(t, harness.Utilizer)
}
