package wiring_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
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
		c := weights.Change{From: uint64(i), Body: []byte("w"), User: scope.User,
			Events: []weights.Event{{ID: "r1", Time: time.Now()}}}
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
		"no traces": func(w *wiring.Weights) { w.Traces = 0 },
		"no TTL":    func(w *wiring.Weights) { w.TraceTTL = 0 },
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// fittedPrior writes a prior that was fitted to an embedder, and returns its file.
func fittedPrior(t *testing.T, embedder string, weight float32) string {
	t.Helper()
	p, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	p.Embedding, p.Weights.W[0] = embedder, weight
	data, err := ranking.EncodePrior(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prior.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAPriorFromAFileHasFeaturesOfItsOwnName(t *testing.T) {
	shipped, err := wiring.Prior{}.OpenFor(builtin.New())
	if err != nil || shipped.Weights.FeatureSet != features.FeatureSet {
		t.Fatalf("the binary's: features %q, %v", shipped.Weights.FeatureSet, err)
	}
	seen := map[string]bool{features.FeatureSet: true}
	for _, weight := range []float32{3, 4} {
		file := fittedPrior(t, builtin.Model, weight)
		one, err1 := wiring.Prior{File: file}.Open()
		other, err2 := wiring.Prior{File: file}.OpenFor(builtin.New())
		if err1 != nil || err2 != nil || one.Weights.W[0] != weight || one.Weights.FeatureSet != other.Weights.FeatureSet {
			t.Fatalf("weights %v of %q and %q, %v, %v", one.Weights.W, one.Weights.FeatureSet, other.Weights.FeatureSet, err1,
				err2)
		}
		if seen[one.Weights.FeatureSet] || one.Weights.Validate() != nil {
			t.Errorf("features are called %q, as those of another file", one.Weights.FeatureSet)
		}
		seen[one.Weights.FeatureSet] = true
	}
}

func TestAPriorThatCannotBeUsedIsRefused(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "prior.json")
	if err := os.WriteFile(broken, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ file, says string }{
		"another embedder": {fittedPrior(t, "big/1024", 1), "big/1024"}, "no file": {broken + "x", "prior.jsonx"},
		"no prior": {broken, "format"},
	} {
		_, err := wiring.Prior{File: tt.file}.OpenFor(builtin.New())
		if !fault.IsTerminal(err) || !strings.Contains(err.Error(), "MNEME_RERANKER_PRIOR") ||
			!strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
