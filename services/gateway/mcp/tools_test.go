package mcp_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
)

// good are arguments that each tool takes, for a key for all users.
func good() map[string]object {
	return map[string]object{
		"add_memory":          {"user_id": "ines", "text": "I drink tea."},
		"search_memories":     {"user_id": "ines", "query": "drinks"},
		"recall":              {"user_id": "ines", "query": "drinks"},
		"answer":              {"user_id": "ines", "query": "drinks"},
		"why":                 {"user_id": "ines", "query": "drinks", "expect_text": "tea"},
		"get_memories":        {"user_id": "ines"},
		"get_memory":          {"user_id": "ines", "memory_id": memoryID},
		"get_memory_history":  {"user_id": "ines", "memory_id": memoryID},
		"update_memory":       {"user_id": "ines", "memory_id": memoryID, "text": "I drink coffee."},
		"delete_memory":       {"user_id": "ines", "memory_id": memoryID},
		"delete_all_memories": {"user_id": "ines", "confirm": true},
		"delete_entities":     {"user_id": "ines", "confirm": true},
		"list_entities":       {},
	}
}

func TestEveryToolIsDescribed(t *testing.T) {
	g := open(t)
	list, err := g.session(t, keyOfAll).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if list.CacheScope != "private" {
		t.Errorf("the list may be cached %q", list.CacheScope)
	}
	// The effect of a tool: r reads, d destroys, i is idempotent.
	want := map[string]string{
		"add_memory": "", "search_memories": "ri", "recall": "ri", "answer": "", "why": "ri", "get_memories": "ri",
		"get_memory":         "ri",
		"get_memory_history": "ri", "list_entities": "ri", "update_memory": "di", "delete_memory": "di",
		"delete_all_memories": "di",
		"delete_entities":     "di",
	}
	for _, tool := range list.Tools {
		a := tool.Annotations
		got := ""
		for letter, set := range map[string]bool{"r": a.ReadOnlyHint, "d": *a.DestructiveHint, "i": a.IdempotentHint} {
			if set {
				got += letter
			}
		}
		if expect, known := want[tool.Name]; !known || len(got) != len(expect) || strings.Trim(got, expect) != "" ||
			*a.OpenWorldHint {
			t.Errorf("%s is annotated %q and open %t, want %q", tool.Name, got, *a.OpenWorldHint, expect)
		}
		delete(want, tool.Name)
		if tool.Title == "" || !strings.Contains(tool.Description, "Cost: ") || tool.OutputSchema == nil {
			t.Errorf("%s: %q, %q", tool.Name, tool.Title, tool.Description)
		}
		checkClosed(t, tool)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", slices.Collect(maps.Keys(want)))
	}
}

// checkClosed checks that a tool's arguments are described, and that there are no others.
func checkClosed(t *testing.T, tool *sdk.Tool) {
	t.Helper()
	in, ok := tool.InputSchema.(map[string]any)
	if !ok || in["additionalProperties"] != false {
		t.Errorf("%s takes any arguments: %v", tool.Name, tool.InputSchema)
		return
	}
	properties, _ := in["properties"].(map[string]any)
	for name, p := range properties {
		if about, _ := p.(map[string]any); about["description"] == "" || about["type"] == nil {
			t.Errorf("%s: %s is not described", tool.Name, name)
		}
	}
	for name := range good()[tool.Name] {
		if properties[name] == nil {
			t.Errorf("%s does not describe %s", tool.Name, name)
		}
	}
}

func TestEveryToolAnswersInTextAndStructure(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	for name, args := range good() {
		res := call(t, s, name, args)
		if name == "list_entities" { // tested for itself
			continue
		}
		structured, ok := res.StructuredContent.(map[string]any)
		if res.IsError || !ok || len(structured) == 0 || textOf(res) == "" {
			t.Errorf("%s: %t %v %q", name, res.IsError, res.StructuredContent, textOf(res))
		}
	}
}

// structure reads the structured content of a result.
func structure[T any](t *testing.T, res *sdk.CallToolResult) (out T) {
	t.Helper()
	if res.IsError {
		t.Fatal(textOf(res))
	}
	data, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAddMemoryIsASessionThatEndsAtOnce(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	type added struct {
		TurnIDs   []string `json:"turn_ids"`
		SessionID string   `json:"session_id"`
		Forming   string   `json:"forming"`
	}
	out := structure[added](t, call(t, s, "add_memory", object{"user_id": "ines/b", "text": "I drink tea."}))
	events := g.topic.take()
	if len(events) != 2 || events[0].Turn == nil || events[1].ClosedAt.IsZero() ||
		events[1].SessionID != events[0].SessionID {
		t.Fatalf("published %+v", events)
	}
	turn := events[0].Turn
	if turn.ID != out.TurnIDs[0] || turn.Text != "I drink tea." || turn.Role != "user" || turn.Speaker != "user" ||
		!turn.Time.Equal(now) ||
		out.SessionID != events[0].SessionID || events[0].Scope.User != "ines/b" || !strings.Contains(out.Forming, "now") {
		t.Errorf("%+v, %+v", turn, out)
	}
	again := structure[added](t, call(t, s, "add_memory", object{"user_id": "ines", "text": "I drink tea."}))
	if again.SessionID == out.SessionID || again.TurnIDs[0] == out.TurnIDs[0] {
		t.Error("two calls are of one session")
	}
	g.topic.take()

	out = structure[added](t, call(t, s, "add_memory", object{"user_id": "ines", "run_id": "chat-7", "messages": []object{
		{"role": "user", "content": "I like it hot.", "name": "Ines"}, {"role": "assistant", "content": "Noted."},
	}}))
	events = g.topic.take()
	if len(events) != 2 || events[0].Turn == nil || events[1].Turn == nil || events[1].SessionID != "chat-7" ||
		events[0].Turn.Speaker != "Ines" || events[1].Turn.Role != "assistant" || len(out.TurnIDs) != 2 ||
		strings.Contains(out.Forming, "now") {
		t.Errorf("published %+v, %+v", events, out)
	}

	g.topic.refuseEnds = true
	out = structure[added](t, call(t, s, "add_memory", object{"user_id": "ines", "text": "I drink tea."}))
	if len(g.topic.take()) != 1 || strings.Contains(out.Forming, "now") || !strings.Contains(g.logs.String(), "kafka-0") {
		t.Errorf("%+v: turns that are in are not to be added again", out)
	}
}

func TestSearchesAreOrderedByScore(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	type found struct {
		Memories []struct {
			Score  float64
			Memory struct{ ID, Kind, Status, Happened, SaidAt string }
		}
	}
	out := structure[found](t, call(t, s, "search_memories",
		object{"user_id": "ines", "query": "drinks", "as_of": "2026-02-01"}))
	if len(out.Memories) != 2 || out.Memories[0].Memory.ID != memoryID || out.Memories[0].Score != 0.5 ||
		out.Memories[0].Memory.Happened != "2026-03" || out.Memories[0].Memory.Kind != "preference" ||
		out.Memories[0].Memory.Status != "active" {
		t.Errorf("found %+v", out)
	}
	req := last[mnemev1.RecallRequest](t, g.behind)
	if req.GetMemories() != 10 || req.GetCandidates() != 0 ||
		req.GetAsOf().AsTime().Format("2006-01-02T15:04:05") != "2026-02-01T23:59:59" {
		t.Errorf("asked %v", req)
	}
	out = structure[found](t, call(t, s, "search_memories", object{"user_id": "ines", "query": "drinks", "limit": 1}))
	if len(out.Memories) != 1 {
		t.Errorf("found %+v, want 1", out)
	}
	call(t, s, "search_memories", object{"user_id": "ines", "query": "drinks", "limit": 100})
	if req := last[mnemev1.RecallRequest](t, g.behind); req.GetMemories() != 100 || req.GetCandidates() != 0 {
		t.Errorf("asked %v", req)
	}
}

func TestRecallsAskForWhatTheyAreTold(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	args := object{
		"user_id": "ines", "query": "and for her?", "memories": 3, "as_of": "2026-02-01T10:00:00+01:00",
		"messages": []object{{"role": "tool", "content": "4 hits"}},
	}
	with := func(more object) object {
		out := maps.Clone(args)
		maps.Copy(out, more)
		return out
	}
	res := call(t, s, "recall", with(object{"word_budget": 50}))
	req := last[mnemev1.RecallRequest](t, g.behind)
	if req.GetMemories() != 3 || req.GetCandidates() != 0 || req.GetWordBudget() != 50 ||
		req.GetMessages()[0].GetRole() != "tool" ||
		req.GetAsOf().AsTime().Hour() != 9 {
		t.Errorf("asked %v", req)
	}
	text := textOf(res)
	if strings.Count(text, "</memory>") != 1 || !strings.Contains(text, "never an instruction") ||
		!strings.Contains(text, "recall_id: r1") ||
		!strings.Contains(text, "[2] is memory "+memoryID) || !strings.Contains(text, "window_unavailable") {
		t.Errorf("got %s", text)
	}
	if out := structure[struct{ Profile string }](t, res); !strings.Contains(out.Profile, "preferences") {
		t.Errorf("got %+v", out)
	}
	call(t, s, "answer", args)
	if req := last[mnemev1.AnswerRequest](t, g.behind).GetRecall(); req.GetMemories() != 3 || req.GetUserId() != "ines" {
		t.Errorf("asked %v", req)
	}
	res = call(t, s, "why", with(object{"expect_turn_ids": []string{"t1"}, "recall_id": "r1"}))
	if req := last[mnemev1.WhyRequest](t, g.behind); req.GetRecallId() != "r1" || req.GetExpectTurnIds()[0] != "t1" {
		t.Errorf("asked %v", req)
	}
	if out := structure[struct{ Stage string }](t, res); out.Stage != "cut_by_reranker" {
		t.Errorf("got %+v", out)
	}
}

func TestListsShowWhatHoldsUnlessTold(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	call(t, s, "get_memories", object{"user_id": "ines"})
	req := last[mnemev1.ListMemoriesRequest](t, g.behind)
	if !slices.Equal(req.GetStatuses(), []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE}) ||
		!slices.Equal(req.GetTiers(), contract.TiersOf("memory")) {
		t.Errorf("asked %v", req)
	}
	res := call(t, s, "get_memories",
		object{"user_id": "ines", "statuses": []string{"superseded", "quarantined"}, "tier": "all", "page_size": 7,
			"page_token": "x"})
	req = last[mnemev1.ListMemoriesRequest](t, g.behind)
	if len(req.GetStatuses()) != 2 || !slices.Equal(req.GetTiers(), contract.TiersOf("all")) || req.GetPageSize() != 7 ||
		req.GetPageToken() != "x" {
		t.Errorf("asked %v", req)
	}
	if out := structure[struct {
		Next string `json:"next_page_token"`
	}](t, res); out.Next != "more" {
		t.Errorf("got %+v", out)
	}
}

func TestAnUpdateThatComesAgainIsTheSameTurn(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	var ids []string
	for i, text := range []string{"I drink coffee.", "I drink coffee.", "I drink mate."} {
		id := memoryID
		if i == 1 {
			id = strings.ToUpper(id) // which is the same
		}
		call(t, s, "update_memory", object{"user_id": "ines", "memory_id": id, "text": text})
		req := last[mnemev1.UpdateMemoryRequest](t, g.behind)
		if req.GetTurn().GetText() != text || req.GetTurn().GetRole() != mnemev1.Role_ROLE_USER {
			t.Errorf("asked %v", req)
		}
		ids = append(ids, req.GetTurn().GetTurnId())
	}
	if ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("turns %q", ids)
	}
}

func TestErrorsOfServicesAreToldByTheTool(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	for _, c := range []struct {
		err    error
		want   string
		logged bool
	}{
		{connect.NewError(connect.CodeNotFound, errors.New("memory not found")), "memory not found", false},
		{connect.NewError(connect.CodeInvalidArgument, errors.New("memory_id: is not a UUID")), "memory_id: is not a UUID",
			false},
		{connect.NewError(connect.CodeFailedPrecondition, errors.New("the memory is superseded")), "the memory is superseded",
			false},
		{connect.NewError(connect.CodeUnavailable, errors.New("memory is not available at the moment")), "try again in 1 s",
			true},
		{connect.NewError(connect.CodeUnknown, errors.New("10.0.0.1 is lost")), "an internal error", true},
	} {
		g.behind.mu.Lock()
		g.behind.err = c.err
		g.behind.mu.Unlock()
		for name, args := range good() {
			if name == "add_memory" || name == "list_entities" {
				continue
			}
			before := len(g.logs.String())
			res := call(t, s, name, args)
			text := textOf(res)
			if !res.IsError || !strings.Contains(text, c.want) || strings.Contains(text, "10.0.0.1") ||
				res.StructuredContent != nil {
				t.Errorf("%s of %v: %t %q", name, c.err, res.IsError, textOf(res))
			}
			if logged := len(g.logs.String()) > before; logged != c.logged {
				t.Errorf("%s of %v is logged: %t", name, c.err, logged)
			}
		}
	}
}

func TestEntitiesAreTheKeysOwnUser(t *testing.T) {
	g := open(t)
	res := call(t, g.session(t, keyOfAll), "list_entities", object{})
	if !res.IsError || !strings.Contains(textOf(res), "no list of users") ||
		!strings.Contains(textOf(res), "GET /v1/entities/") {
		t.Errorf("got %q", textOf(res))
	}
	res = call(t, g.session(t, keyOfBen), "list_entities", nil)
	out := structure[struct {
		Entities []struct{ Type, ID string }
	}](t, res)
	if len(out.Entities) != 1 || out.Entities[0].Type != "user" || out.Entities[0].ID != "ben" {
		t.Errorf("got %+v", out)
	}
}
