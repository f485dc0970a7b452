package fault_test

import (
	"testing"

	"github.com/mneme-memory/mneme/test/harness"
)

// serviceOutages returns two outages of each service: an orderly end (SIGTERM) with exit code 0, and a death (kill
// -9).
func serviceOutages(sys *harness.System) []outages {
	var out []outages
	for _, name := range []string{harness.Filter, harness.Booster, harness.Utilizer, harness.Reranker} {
		end := func(t *testing.T) { sys.Launch(t, name); sys.AwaitReady(t, name) }
		out = append(out, outages{tenant: name, both: [2]outage{
			{begin: func(t *testing.T) { sys.Stop(t, name) }, end: end},
			{begin: func(t *testing.T) { sys.Kill(t, name) }, end: end},
		}})
	}
	return out
}
