package reranker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

func TestCitationsChangeTheOrder(t *testing.T) {
	r := start(t, nil)
	if ids, version := r.order("acme"); ids != "ab" || version != "prior/0" {
		t.Fatalf("begins with %s by %s", ids, version)
	}
	r.teach(ana, "b", 4)
	if _, version := r.order("acme"); version != "learned/1" {
		t.Errorf("a batch of reports led to %s", version)
	}
	r.teach(ana, "b", 16)
	if ids, version := r.order("acme"); ids != "ba" || version != "learned/5" {
		t.Errorf("the order is %s by %s, want what was cited first", ids, version)
	}
	r.wantCounted(telemetry.MetricReports, "learned", 20)
	r.wantCounted(telemetry.MetricFeedback, "cited", 20)
	r.wantCounted(telemetry.MetricFeedback, "not_cited", 20)
	r.wantCounted(telemetry.MetricWeightSteps, "learned", 5)
	if ids, version := r.order("globex"); ids != "ab" || version != "prior/0" {
		t.Errorf("another tenant has %s by %s", ids, version)
	}
}

func TestABatchIsOneChange(t *testing.T) {
	one, all := start(t, nil), start(t, nil)
	var batch []bus.Message
	for range 10 {
		one.teach(ana, "a", 1) // the order stays, so the traces stay equal
		batch = append(batch, all.report(ana, all.recall(ana), []string{"a"}, "a", "b"))
	}
	all.handle(batch...)
	if a, b := one.list("acme").GetFeatures(), all.list("acme").GetFeatures(); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("one by one %v, together %v", a, b)
	}
	if r, err := all.parts.Store.Load(t.Context(), "acme", 0); err != nil || r.Revision != 1 {
		t.Errorf("%d changes, %v, want 1", r.Revision, err)
	}
}

func TestARepeatedReportChangesNothing(t *testing.T) {
	r := start(t, nil)
	first := r.report(ana, r.recall(ana), []string{"b"}, "a", "b")
	r.handle(first, first)
	r.handle(first)
	// another replica, or a restart
	other := start(t, func(p *reranker.Parts) { p.Store, p.Now = r.parts.Store, r.clock.Now })
	other.handle(first, first)
	r.wantCounted(telemetry.MetricReports, "learned", 1)
	r.wantCounted(telemetry.MetricReports, "duplicate", 2)
	other.wantCounted(telemetry.MetricReports, "duplicate", 2)
	if got, err := r.parts.Store.Load(t.Context(), "acme", 0); err != nil || got.Revision != 1 {
		t.Errorf("%d changes, %v, want 1", got.Revision, err)
	}
}

func TestNothingIsLearnedOfWhatWasNotShown(t *testing.T) {
	r := start(t, nil)
	r.handle(r.report(ana, "made up", []string{"b"}, "a", "b"))
	r.wantCounted(telemetry.MetricReports, "unknown_recall", 1)
	recallID := r.recall(ana)
	r.handle(r.report(memory.Scope{Tenant: "acme", User: "anabel"}, recallID, []string{"b"}, "a", "b"))
	r.handle(r.report(memory.Scope{Tenant: "globex", User: "ana"}, recallID, []string{"b"}, "a", "b"))
	r.wantCounted(telemetry.MetricReports, "unknown_recall", 3)
	r.handle(r.report(ana, recallID, []string{"x"}, "x", "y", "z"))
	r.wantCounted(telemetry.MetricReports, "nothing_shown", 1)
	r.wantCounted(telemetry.MetricFeedback, "not_in_recall", 3)
	if got, err := r.parts.Store.Load(t.Context(), "acme", 0); err != nil || got.Revision != 0 {
		t.Errorf("%d changes, %v, want none", got.Revision, err)
	}
	r.handle(r.report(ana, recallID, []string{"x", "b"}, "x", "b"))
	r.wantCounted(telemetry.MetricReports, "learned", 1)
	r.wantCounted(telemetry.MetricFeedback, "cited", 1)
	r.wantCounted(telemetry.MetricFeedback, "not_cited", 0)
	r.wantCounted(telemetry.MetricFeedback, "not_in_recall", 4)
}

// The embedded generator cites the first memory, and the learner ignores that. The caller may still report on the
// same recall.
func TestTheEmbeddedGeneratorDoesNotConfirmTheRanker(t *testing.T) {
	r := start(t, nil)
	feedback := func(recallID string, by contract.CitationSource) contract.Feedback {
		return contract.Feedback{
			Envelope: contract.Envelope{EventID: recallID, Scope: ana}, RecallID: recallID, Shown: []string{"a", "b"},
			Cited:  []string{"b"},
			Source: by, Time: r.clock.Now(),
		}
	}
	recallID := r.recall(ana)
	r.handle(r.record(feedback(recallID, contract.CitationEmbedded)),
		r.record(feedback(recallID, contract.CitationUnknown)))
	if got, err := r.parts.Store.Load(t.Context(), "acme", 0); err != nil || got.Revision != 0 {
		t.Errorf("%d changes, %v, want none", got.Revision, err)
	}
	r.handle(r.record(feedback(recallID, contract.CitationCaller)))
	r.handle(r.record(feedback(r.recall(ana), contract.CitationModel)))
	for outcome, want := range map[string]int64{"embedded": 1, "unknown_source": 1, "duplicate": 0, "learned": 2} {
		r.wantCounted(telemetry.MetricReports, outcome, want)
	}
	r.wantCounted(telemetry.MetricFeedback, "cited", 2)
}

func TestAReportComesTooLate(t *testing.T) {
	r := start(t, nil)
	late := r.report(ana, r.recall(ana), []string{"b"}, "a", "b")
	r.clock.advance(limits.TraceTTL + time.Minute)
	r.handle(late)
	r.wantCounted(telemetry.MetricReports, "unknown_recall", 1)
	r.clock.advance(limits.EventTTL())
	r.handle(late)
	r.wantCounted(telemetry.MetricReports, "expired", 1)
}

func TestRates(t *testing.T) {
	r := start(t, func(p *reranker.Parts) { p.Settings.UserRate, p.Settings.TenantRate = 3, 5 })
	eve := memory.Scope{Tenant: "acme", User: "eve"}
	r.teach(ana, "b", 5)
	r.wantCounted(telemetry.MetricReports, "learned", 3)
	r.wantCounted(telemetry.MetricReports, "user_rate", 2)
	r.teach(eve, "b", 3)
	r.wantCounted(telemetry.MetricReports, "learned", 5)
	r.wantCounted(telemetry.MetricReports, "tenant_rate", 1)
	r.teach(eva, "b", 1)
	r.wantCounted(telemetry.MetricReports, "learned", 6)
	r.clock.advance(61 * time.Minute)
	r.teach(ana, "b", 1)
	r.wantCounted(telemetry.MetricReports, "learned", 7)
}

// A backlog does not exceed the rate limit: reports count in the hour of their creation.
func TestABacklogIsNotDropped(t *testing.T) {
	r := start(t, func(p *reranker.Parts) {
		p.Settings.UserRate, p.Settings.TenantRate, p.Limits.TraceTTL = 2, 2, 24*time.Hour
	})
	var backlog []bus.Message
	for range 3 {
		for range 2 {
			backlog = append(backlog, r.report(ana, fmt.Sprint("r", len(backlog)), []string{"b"}, "a", "b"))
		}
		r.clock.advance(61 * time.Minute)
	}
	for i := range backlog {
		r.rerank("acme", request(fmt.Sprint("r", i)))
		r.await(func() bool { n, err := r.parts.Store.Count(t.Context(), ana); return err == nil && n.Traces == i+1 })
	}
	for _, m := range backlog {
		r.handle(m)
	}
	r.wantCounted(telemetry.MetricReports, "learned", 6)
}

func TestNothingOfABadBatchIsLearned(t *testing.T) {
	r := start(t, nil)
	good := r.report(ana, r.recall(ana), []string{"b"}, "a", "b")
	for _, tt := range []struct {
		name, field string
		batch       []bus.Message
	}{
		{"a record that is no feedback", "", []bus.Message{good, {Key: good.Key, Value: []byte("?")}}},
		{"a key of another user", "key", []bus.Message{good, {Key: []byte("acme/eva"), Value: good.Value}}},
		{"an unknown tenant", "tenant_id", []bus.Message{r.report(memory.Scope{Tenant: "nobody", User: "ana"}, "r1", nil,
			"m1")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := r.learner.Handle(t.Context(), tt.batch)
			if !fault.IsTerminal(err) || fault.Field(err) != tt.field {
				t.Errorf("got %v, want a terminal error about %q", err, tt.field)
			}
			r.wantCounted(telemetry.MetricReports, "learned", 0)
		})
	}
}

// With embeddings, the learner updates the maps, too. A vector of another model resets them, and ranking and learning
// continue.
func TestAnotherEmbeddingModel(t *testing.T) {
	r := start(t, nil)
	with := func(recallID string, numbers ...float32) *mnemev1.RerankRequest {
		req := request(recallID)
		req.QueryVector = vector(t, numbers...)
		for i, c := range req.GetCandidates() {
			numbers[0] = float32(i + 1)
			c.Vector = vector(t, numbers...)
		}
		return req
	}
	teach := func(id string, numbers ...float32) {
		r.rerank("acme", with(id, numbers...))
		r.await(func() bool {
			got, err := r.parts.Store.Traces(t.Context(), ana, []string{id})
			return err == nil && got[0] != nil
		})
		r.handle(r.report(ana, id, []string{"b"}, "a", "b"))
	}
	for i := range 4 {
		teach(fmt.Sprint("two-", i), 1, 0.5)
	}
	if res := r.rerank("acme", with("x", 1, 0.5)); res.GetWeightsVersion() != "learned/1" {
		t.Errorf("ranked by %s", res.GetWeightsVersion())
	}
	if res := r.rerank("acme", with("y", 1, 0.5, 0.25)); res.GetWeightsVersion() != "learned/1" ||
		len(res.GetRanked()) != 2 {
		t.Errorf("ranked by %s", res.GetWeightsVersion())
	}
	r.wantCounted(telemetry.MetricRerankDegraded, "maps_do_not_fit", 1)
	for i := range 4 {
		teach(fmt.Sprint("three-", i), 1, 0.5, 0.25)
	}
	r.wantCounted(telemetry.MetricReports, "learned", 8)
	r.rerank("acme", with("z", 1, 0.5, 0.25))
	r.wantCounted(telemetry.MetricRerankDegraded, "maps_do_not_fit", 2) // and the first of three numbers
}

func TestOtherFeatures(t *testing.T) {
	r := start(t, nil)
	r.teach(ana, "b", 8)
	left := r.report(ana, r.recall(ana), []string{"b"}, "a", "b")
	upgraded := start(t, func(p *reranker.Parts) {
		p.Store, p.Now, p.Prior.Weights.FeatureSet = r.parts.Store, r.clock.Now, "test/2"
	})
	upgraded.recalls = 100
	req := request("upgraded")
	req.FeatureSet = "test/2"
	if res := upgraded.rerank("acme", req); ids(res) != "a b" || res.GetWeightsVersion() != "prior/0" {
		t.Errorf("got %s by %s, want the prior", ids(res), res.GetWeightsVersion())
	}
	upgraded.handle(left)
	upgraded.wantCounted(telemetry.MetricReports, "other_features", 1)
	if got := upgraded.list("acme"); len(got.GetVersions()) != 1 || got.GetVersions()[0].GetVersion() != 0 ||
		got.GetFeatureSet() != "test/2" {
		t.Errorf("listed %v", got)
	}
	for i := range 4 {
		req.RecallId = fmt.Sprint("new-", i)
		upgraded.rerank("acme", req)
		upgraded.await(func() bool {
			got, err := r.parts.Store.Traces(t.Context(), ana, []string{req.RecallId})
			return err == nil && got[0] != nil
		})
		upgraded.handle(upgraded.report(ana, req.RecallId, []string{"b"}, "a", "b"))
	}
	got := upgraded.list("acme").GetVersions()
	if len(got) != 3 || got[0].GetVersion() != 4 || got[1].GetVersion() != 3 || got[1].RolledBackTo == nil ||
		got[1].GetDistance() != 0 {
		t.Errorf("versions %v, want 4 learned from the prior as 3", got)
	}
	if n := upgraded.log.count("put aside"); n != 1 {
		t.Errorf("said %d times that weights are put aside", n)
	}
}

func TestNothingOfUsersIsCountedOrLogged(t *testing.T) {
	r := start(t, nil)
	r.teach(memory.Scope{Tenant: "acme", User: "SECRETUSER"}, "b", 4)
	r.rollback("acme", 0)
	if r.log.count("SECRETUSER") > 0 || !strings.Contains(r.log.text.String(), "rolled back") {
		t.Errorf("logged %s", r.log.text.String())
	}
}
