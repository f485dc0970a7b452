package fault_test

import (
	"testing"

	"github.com/mneme-memory/mneme/test/harness"
)

// serviceOutages are the orderly end (SIGTERM) of each service, which must exit with code 0, and its death (kill -9).
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
