package wiring_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/store/weights/inmem"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

func TestRecallTracesAreErasedOfOneUser(t *testing.T) {
	s, err := inmem.New(weights.Limits{Versions: 1, Traces: 10, TraceTTL: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ana, eva := memory.Scope{Tenant: "acme", User: "ana"}, memory.Scope{Tenant: "acme", User: "eva"}
	for i, scope := range []memory.Scope{ana, eva} {
		if err := s.PutTrace(t.Context(), scope, "r1", []byte("x")); err != nil {
			t.Fatal(err)
		}
		c := weights.Change{From: uint64(i), Body: []byte("w"), User: scope.User, Events: []weights.Event{{ID: "r1", Time: time.Now()}}}
		if err := s.Commit(t.Context(), scope.Tenant, c); err != nil {
			t.Fatal(err)
		}
	}
	traces := wiring.RecallTraces{Store: s}
	want := func(scope memory.Scope, n int) {
		t.Helper()
		if got, err := traces.Count(t.Context(), erasure.Request{Scope: scope}); err != nil || got != n {
			t.Errorf("%s has %d, %v, want %d", scope.User, got, err, n)
		}
	}
	want(ana, 2)
	for range 2 {
		if err := traces.Erase(t.Context(), erasure.Request{Scope: ana}); err != nil {
			t.Fatal(err)
		}
	}
	want(ana, 0)
	want(eva, 2)
}

func TestWeightsSettings(t *testing.T) {
	good := wiring.Weights{Versions: 1, Traces: 1, TraceTTL: time.Millisecond}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*wiring.Weights){
		"no versions": func(w *wiring.Weights) { w.Versions = 0 },
		"no traces":   func(w *wiring.Weights) { w.Traces = 0 },
		"no TTL":      func(w *wiring.Weights) { w.TraceTTL = 0 },
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
