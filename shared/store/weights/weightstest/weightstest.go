// Package weightstest is the conformance suite of the weights port. Every store passes it.
package weightstest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// Backend is a store under test.
type Backend struct {
	// Store is new and empty, or shared with stores of other tests: the suite never uses a tenant twice.
	Store weights.Store
	// Advance advances the store's clocks by d. Nil means that it uses the real clock, and the suite waits.
	Advance func(d time.Duration)
}

// Factory returns a store with limits. Its cleanup runs with t.
type Factory func(t *testing.T, l weights.Limits) Backend

// Run runs the whole suite.
func Run(t *testing.T, factory Factory) {
	s := &suite{factory: factory, run: runs.Add(1)}
	t.Run("weights", func(t *testing.T) {
		t.Run("nobody's are empty", s.emptyTenant)
		t.Run("come back as they were written", s.roundTrip)
		t.Run("a known revision has no body", s.knownRevision)
		t.Run("a change from another revision does nothing", s.conflict)
		t.Run("one of many writers at a time succeeds", s.concurrentWriters)
		t.Run("the newest versions are kept", s.versions)
		t.Run("a change without versions keeps those there are", s.noVersions)
	})
	t.Run("events", func(t *testing.T) {
		t.Run("are known with the change and not before", s.events)
		t.Run("are counted by their own time", s.recentEvents)
		t.Run("outlive every trace they can be about", s.eventExpiry)
	})
	t.Run("traces", func(t *testing.T) {
		t.Run("come back as they were written", s.traces)
		t.Run("the same recall again replaces", s.traceAgain)
		t.Run("the oldest of too many falls out", s.traceLimit)
		t.Run("are forgotten in time", s.traceExpiry)
		t.Run("erasing leaves nothing of the user and all of the others", s.erase)
	})
	t.Run("isolation", s.isolation)
	t.Run("property: equals the model", s.model)
}

// runs makes the tenants of several runs on one server differ.
var runs atomic.Int64

type suite struct {
	factory Factory
	run     int64
	tenants atomic.Int64
}

// tenant returns an unused tenant.
func (s *suite) tenant() string {
	return fmt.Sprintf("tenant-%d-%d-%d", time.Now().UnixNano(), s.run, s.tenants.Add(1))
}

func (s *suite) scope() memory.Scope { return memory.Scope{Tenant: s.tenant(), User: "ana"} }

// wide are limits that a short test never reaches.
var wide = weights.Limits{Versions: 1000, Traces: 1000, TraceTTL: time.Hour}

// binary returns every byte, for stores that treat bodies as text.
func binary() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}
