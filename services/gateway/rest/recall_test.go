package rest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/access"
)

func TestRecall(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, ines+"/recall", `{"query":"tea","candidates":50.0,"memories":7,"word_budget":100,"as_of":"2025-01-01T00:00:00Z",
		"retrieval_order":true,"messages":[{"role":"user","content":"What shall we drink?"},{"role":"tool","content":"tea"}]}`).expect(t, 200,
		map[string]any{
			"recall_id": "r1", "profile": "what ines told about tea", "sections.0.name": "constraints",
			"sections.0.lines.0": "line [1]",
			"cited.0.index":      1, "cited.0.memory.id": first, "cited.0.memory.kind": "fact",
			"cited.0.memory.status":               "active",
			"cited.0.memory.event_time.precision": "day", "cited.0.score": 0.5, "latency_ms": 1.5, "searched": false,
		})
	asked := g.behind.asked.(*mnemev1.RecallRequest)
	if asked.GetCandidates() != 50 || asked.GetMemories() != 7 || asked.GetWordBudget() != 100 ||
		!asked.GetRetrievalOrder() ||
		!asked.GetAsOf().AsTime().Equal(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) ||
		asked.GetMessages()[1].GetRole() != "tool" {
		t.Errorf("asked for %v", asked)
	}
}

func TestAnswer(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, ines+"/answer", `{"query":"Where?"}`).expect(t, 200, map[string]any{
		"answer": "Porto [1]", "abstained": false, "cited_ids.0": first, "recall.recall_id": "r1",
	})
}

func TestCitations(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, ines+"/citations", `{"recall_id":"r1","shown_ids":["a","b"],"cited_ids":["b"]}`).expect(t, 202,
		map[string]any{"recall_id": "r1"})
	asked := g.behind.asked.(*mnemev1.ReportCitationsRequest)
	if asked.GetUserId() != "ines" || strings.Join(asked.GetShownIds(), " ") != "a b" ||
		strings.Join(asked.GetCitedIds(), " ") != "b" {
		t.Errorf("asked for %v", asked)
	}
}

func TestWhy(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, ines+"/why", `{"query":"Where?","expect_turn_ids":["t1"],"expect_text":"Porto","recall_id":"r1"}`).expect(t, 200,
		map[string]any{
			"stage": "not_retrieved", "findings.0.turn_id": "t1", "findings.0.reason": "too far",
			"candidates.0.memory_id": second,
			"candidates.0.shown":     true, "answer.recall.recall_id": "r1", "core.version": 3,
		})
	asked := g.behind.asked.(*mnemev1.WhyRequest)
	if asked.GetRecall().GetUserId() != "ines" || asked.GetExpectTurnIds()[0] != "t1" ||
		asked.GetExpectText() != "Porto" ||
		asked.GetRecallId() != "r1" {
		t.Errorf("asked for %v", asked)
	}
}

func TestQueriesOfEveryFormThatIsNone(t *testing.T) {
	g := open(t)
	for _, c := range [][2]string{
		{`{}`, "query"}, {`{"query":""}`, "query"}, {`{"query":["a"]}`, "query"}, {`{"query":{"a":1}}`, "query"},
		{`{"query":null}`, "query"},
		{`{"query":"` + strings.Repeat("x", 4097) + `"}`, "query"}, {`{"query":"q","candidates":0}`, "candidates"},
		{`{"query":"q","candidates":201}`, "candidates"}, {`{"query":"q","memories":-1}`, "memories"},
		{`{"query":"q","memories":1.5}`, "memories"},
		{`{"query":"q","memories":1e400}`, "memories"}, {`{"query":"q","memories":99999999999999999999}`, "memories"},
		{`{"query":"q","memories":"5"}`, "memories"}, {`{"query":"q","word_budget":19}`, "word_budget"},
		{`{"query":"q","as_of":1}`, "as_of"},
		{`{"query":"q","as_of":"2025-13-01T00:00:00Z"}`, "as_of"},
		{`{"query":"q","retrieval_order":"yes"}`, "retrieval_order"},
		{`{"query":"q","messages":[{"role":"system","content":"a"}]}`, "messages[0].role"},
		{`{"query":"q","messages":[{"role":"user"}]}`, "messages[0].content"},
		{`{"query":"q","messages":[` + strings.Repeat(`{"role":"user","content":"a"},`, 20) +
			`{"role":"user","content":"a"}]}`, "messages"},
		{`{"query":"q","tenant_id":"beta"}`, "tenant_id"}, {`{"query":"q","user_id":"ben"}`, "user_id"}, {`"q"`, "body"},
		{`null`, "body"},
	} {
		body, field := c[0], c[1]
		g.call(http.MethodPost, ines+"/recall", body).expect(t, 400,
			map[string]any{"errors.0.field": field, "errors.0.location": "body"})
	}
	for body, field := range map[string]string{
		`{"recall_id":"r","shown_ids":[],"cited_ids":[]}`: "shown_ids", `{"recall_id":"r","shown_ids":["a"]}`: "cited_ids",
		`{"recall_id":"","shown_ids":["a"],"cited_ids":[]}`:     "recall_id",
		`{"recall_id":"r","shown_ids":["a",""],"cited_ids":[]}`: "shown_ids[1]",
	} {
		g.call(http.MethodPost, ines+"/citations", body).expect(t, 400, map[string]any{"errors.0.field": field})
	}
	if len(g.behind.calls) > 0 {
		t.Errorf("asked %v", g.behind.calls)
	}
}

// BenchmarkRecall measures a recall over this API. BenchmarkRecallBehind measures the service's part of it.
func BenchmarkRecall(b *testing.B) {
	g := open(b)
	for b.Loop() {
		g.call(http.MethodPost, ines+"/recall", `{"query":"Where does Ines live?"}`)
	}
}

func BenchmarkRecallBehind(b *testing.B) {
	g := open(b)
	ctx := access.NewContext(b.Context(), callers()["ALL"])
	for b.Loop() {
		if _, err := g.api.Services.Recall.Recall(ctx,
			connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines", Query: "q"})); err != nil {
			b.Fatal(err)
		}
	}
}
