package reranker_test

import (
	"fmt"
	"math"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

func batchOf(m ...bus.Message) []bus.Message { return m }

func rollbackTo(version uint64) *mnemev1.RollbackWeightsRequest {
	return &mnemev1.RollbackWeightsRequest{Version: version}
}

// numbers returns the version numbers, newest first.
func numbers(l *mnemev1.ListWeightsResponse) string {
	var out []uint64
	for _, v := range l.GetVersions() {
		out = append(out, v.GetVersion())
	}
	return fmt.Sprint(out)
}

func TestVersionsAreKeptAndListed(t *testing.T) {
	r := start(t, nil)
	l := r.list("acme")
	if f := l.GetFeatures(); numbers(l) != "[0]" || len(f) != 3 || f[0].GetName() != "words" || f[0].GetWeight() != 1 {
		t.Errorf("begins with %v", l)
	}
	r.teach(ana, "b", 7*4)
	l = r.list("acme")
	if numbers(l) != "[7 6 5 4 3 0]" {
		t.Errorf("versions %s, want the last five and the prior", numbers(l))
	}
	for i, v := range l.GetVersions()[:5] {
		near := v.GetDistance() > 0 && v.GetDistance() <= 1.0001
		if v.GetLearned() != 4*v.GetVersion() || !near || !v.GetTime().IsValid() || v.RolledBackTo != nil {
			t.Errorf("version %d is %v", i, v)
		}
	}
	if f := l.GetFeatures()[1]; f.GetName() != "name" || f.GetWeight() <= 0 || f.GetPrior() != 0 {
		t.Errorf("the second feature is %v", f)
	}
	if numbers(r.list("globex")) != "[0]" {
		t.Error("another tenant has versions")
	}
}

func TestRollback(t *testing.T) {
	r := start(t, nil)
	r.teach(ana, "b", 4)
	first := r.list("acme").GetFeatures()
	r.teach(ana, "b", 16)
	r.teach(ana, "b", 3) // learned and not applied
	v := r.rollback("acme", 1)
	if v.GetVersion() != 6 || v.GetRolledBackTo() != 1 || v.GetLearned() != 23 {
		t.Errorf("made %v", v)
	}
	l := r.list("acme")
	if fmt.Sprint(l.GetFeatures()) != fmt.Sprint(first) || numbers(l) != "[6 5 4 3 2 0]" {
		t.Errorf("weights %v, versions %s", l.GetFeatures(), numbers(l))
	}
	r.teach(ana, "b", 1) // the three are dropped, so this makes no step
	if got := numbers(r.list("acme")); got != "[6 5 4 3 2 0]" {
		t.Errorf("versions %s after one report", got)
	}
	if v := r.rollback("acme", 0); v.GetVersion() != 7 || v.RolledBackTo == nil || v.GetRolledBackTo() != 0 ||
		v.GetDistance() != 0 {
		t.Errorf("made %v", v)
	}
	if ids, version := r.order("acme"); ids != "ab" || version != "learned/7" {
		t.Errorf("after the rollback %s by %s", ids, version)
	}
	r.wantCounted(telemetry.MetricWeightSteps, "rolled_back", 2)
	for _, to := range []uint64{1, 99, math.MaxUint64} {
		if _, err := r.client.RollbackWeights(t.Context(),
			as("acme", rollbackTo(to))); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("to %d: got %v", to, err)
		}
	}
	if v := r.rollback("globex", 0); v.GetVersion() != 1 {
		t.Errorf("a tenant that never learned is rolled back to %v", v)
	}
}

// A caller that only reports citations cannot move weights far. It cannot move other tenants' weights, and its
// changes can be rolled back.
func TestPoisoning(t *testing.T) {
	const radius = 0.5
	r := start(t, func(p *reranker.Parts) { p.Settings.Radius, p.Settings.UserRate, p.Limits.Versions = radius, 400, 5 })
	r.teach(eva, "b", 4)
	others := fmt.Sprint(r.list("globex"))
	mallory := memory.Scope{Tenant: "acme", User: "mallory"}
	for range 12 {
		var batch []bus.Message
		for i := range 50 {
			recallID := r.recall(mallory)
			forged := r.report(mallory, fmt.Sprint("forged-", i), []string{"b"}, "b")
			batch = append(batch, r.report(mallory, recallID, []string{"b"}, "a", "b"), forged)
		}
		r.handle(batch...)
	}
	r.wantCounted(telemetry.MetricReports, "learned", 400+4)
	r.wantCounted(telemetry.MetricReports, "user_rate", 200)
	r.wantCounted(telemetry.MetricReports, "unknown_recall", 600)
	l := r.list("acme")
	for _, v := range l.GetVersions() {
		if v.GetDistance() > radius+1e-4 {
			t.Errorf("version %d is %g from the prior, want at most %g", v.GetVersion(), v.GetDistance(), radius)
		}
	}
	if l.GetVersions()[0].GetDistance() < radius/2 {
		t.Errorf("the attack moved weights by %g only: the test shows nothing", l.GetVersions()[0].GetDistance())
	}
	if got := fmt.Sprint(r.list("globex")); got != others {
		t.Errorf("another tenant has %s, had %s", got, others)
	}
	r.rollback("acme", 0)
	if ids, _ := r.order("acme"); ids != "ab" {
		t.Errorf("after the rollback the order is %s", ids)
	}
}
