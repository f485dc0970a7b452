package rest_test

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

const red = `{"field":"metadata.colour","equals":"red"}`

func TestTurnsCarryAttributes(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicSessionEvents)
	g := open(t, broker.Publisher())
	g.call(http.MethodPost, session+"/turns", `{"turns":[{"id":"t1","role":"user","text":"I live in Porto.","agent_id":"a1","app_id":"b",
		"run_id":"c","metadata":{"colour":"red","n":-1.5,"deep":{"list":[true,null]}}},{"role":"user","text":"Hi."}]}`,
		"Idempotency-Key: k1").expect(t, 202, nil)
	var msgs []bus.Message
	if err := bus.ScanLog(t.Context(), broker.Log(contract.TopicSessionEvents), func(m bus.Message) {
		msgs = append(msgs, m)
	}); err != nil {
		t.Fatal(err)
	}
	got := events(t, msgs)
	want := memory.Attributes{AgentID: "a1", AppID: "b", RunID: "c", Metadata: map[string]any{
		"colour": "red", "n": -1.5, "deep": map[string]any{"list": []any{true, nil}},
	}}
	if len(got) != 2 || !reflect.DeepEqual(got[0].Turn.Attributes, want) ||
		!reflect.DeepEqual(got[1].Turn.Attributes, memory.Attributes{}) {
		t.Errorf("published %+v", got)
	}
}

func TestAttributesThatAreRefused(t *testing.T) {
	g := open(t)
	for turn, field := range map[string]string{
		`"metadata":[1]`: "turns[0].metadata", `"metadata":{"n":9007199254740993}`: "turns[0].metadata.n",
		`"agent_id":" "`: "turns[0].agent_id",
		`"metadata":{"a":"` + strings.Repeat("x", 2048) + `"}`: "turns[0].metadata", `"alias_of":"m"`: "turns[0].alias_of",
		`"app_id":"a\u200b"`: "turns[0].app_id",
	} {
		a := g.call(http.MethodPost, session+"/turns", `{"turns":[{"role":"user","text":"Hi.",`+turn+`}]}`,
			"Idempotency-Key: k"+field)
		a.expect(t, 400, map[string]any{"errors.0.field": field, "errors.0.location": "body"})
	}
}

// A turn with metadata that is not accepted is left out, and the others are taken.
func TestATurnWithWrongMetadataIsLeftOut(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicSessionEvents)
	g := open(t, broker.Publisher())
	g.call(http.MethodPost, session+"/turns", `{"turns":[{"id":"t1","role":"user","text":"Hi.","metadata":{"n":9007199254740993}},
		{"id":"t2","role":"user","text":"Ho."}]}`, "Idempotency-Key: k1").expect(t, 207, map[string]any{
		"results.0.status": "left_out", "results.0.problem.field": "turns[0].metadata.n", "results.1.status": "accepted",
	})
}

func TestMemoriesAreWrittenAndShownWithAttributes(t *testing.T) {
	g := open(t)
	g.behind.memories[0].Metadata, _ = structpb.NewStruct(map[string]any{"colour": "red", "n": 1})
	g.behind.memories[0].AgentId, g.behind.memories[0].AliasOf = "a1", "m-1"
	g.call(http.MethodGet, ines+"/memories/"+first, "").expect(t, 200, map[string]any{
		"metadata.colour": "red", "metadata.n": 1, "agent_id": "a1", "alias_of": "m-1",
	})
	body := `{"content":"I like tea.","run_id":"r1","metadata":{"size":2}}`
	g.call(http.MethodPost, ines+"/memories", body, "Idempotency-Key: k1").expect(t, 201, nil)
	if turn := g.behind.asked.(*mnemev1.AddMemoryRequest).GetTurn(); turn.GetRunId() != "r1" ||
		turn.GetMetadata().AsMap()["size"] != 2.0 {
		t.Errorf("adds %v", turn)
	}
	g.call(http.MethodPatch, ines+"/memories/"+first, body, "Idempotency-Key: k2").expect(t, 200, nil)
	if turn := g.behind.asked.(*mnemev1.UpdateMemoryRequest).GetTurn(); turn.GetRunId() != "r1" ||
		turn.GetMetadata().AsMap()["size"] != 2.0 {
		t.Errorf("updates by %v", turn)
	}
}

func TestFiltersReachTheServices(t *testing.T) {
	g := open(t)
	colour := func(f *mnemev1.Filter) string { return f.GetCondition().GetEquals().GetStringValue() }
	list := ines + "/memories?limit=1&filter=" + url.QueryEscape(red)
	page := g.call(http.MethodGet, list, "")
	page.expect(t, 200, nil)
	if got := colour(g.behind.asked.(*mnemev1.ListMemoriesRequest).GetFilter()); got != "red" {
		t.Errorf("lists by %q", got)
	}
	cursor, _ := page.field("next_cursor").(string)
	g.call(http.MethodGet, ines+"/memories?limit=1&cursor="+cursor, "").expect(t, 400,
		map[string]any{"errors.0.field": "cursor"})
	g.call(http.MethodGet, list+"&cursor="+cursor, "").expect(t, 200, nil)
	for path, filter := range map[string]func() *mnemev1.Filter{
		"recall": func() *mnemev1.Filter { return g.behind.asked.(*mnemev1.RecallRequest).GetFilter() },
		"answer": func() *mnemev1.Filter { return g.behind.asked.(*mnemev1.AnswerRequest).GetRecall().GetFilter() },
		"why":    func() *mnemev1.Filter { return g.behind.asked.(*mnemev1.WhyRequest).GetRecall().GetFilter() },
	} {
		g.call(http.MethodPost, ines+"/"+path, `{"query":"tea","filter":`+red+`}`).expect(t, 200, nil)
		if got := colour(filter()); got != "red" {
			t.Errorf("%s by %q", path, got)
		}
		g.call(http.MethodPost, ines+"/"+path, `{"query":"tea","filter":{"and":[{"field":"metadata.n","over":3}]}}`).expect(t,
			400,
			map[string]any{"errors.0.field": "filter.and[0].over", "errors.0.location": "body"})
	}
	// Every text contains the empty text, so that such a filter would match all memories.
	empty := url.QueryEscape(`{"field":"metadata.colour","contains":""}`)
	g.call(http.MethodGet, ines+"/memories?filter="+empty, "").expect(t, 400,
		map[string]any{"errors.0.field": "filter.contains", "errors.0.location": "query"})
	g.call(http.MethodGet, ines+"/memories?filter=%7B%7D", "").expect(t, 400,
		map[string]any{"errors.0.field": "filter", "errors.0.location": "query"})
}
