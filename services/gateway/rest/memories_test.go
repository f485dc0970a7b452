package rest_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

func TestMemoriesAreListedInPages(t *testing.T) {
	g := open(t)
	page := g.call(http.MethodGet, ines+"/memories?limit=1", "")
	page.expect(t, 200, map[string]any{"memories.0.id": first, "memories.1": nil, "memories.0.source_turn_ids.0": "t1"})
	next, _ := page.field("next_cursor").(string)
	last := g.call(http.MethodGet, ines+"/memories?limit=1&cursor="+next, "")
	last.expect(t, 200, map[string]any{"memories.0.id": second, "memories.0.kind": "preference", "next_cursor": nil})
	g.call(http.MethodGet, ines+"/memories?status=retracted&status=quarantined", "").expect(t, 200, map[string]any{
		"memories.0.id": second, "memories.1": nil,
	})
	g.call(http.MethodGet, ines+"/memories?status=quarantined", "").expect(t, 200, map[string]any{"memories": []any{}})
	if asked := g.behind.asked.(*mnemev1.ListMemoriesRequest); asked.GetPageSize() != 100 || asked.GetUserId() != "ines" {
		t.Errorf("asked for %v", asked)
	}
	g.behind.memories[0].Tier = mnemev1.Tier_TIER_TALK
	for query, want := range map[string][]mnemev1.Tier{
		"": contract.TiersOf("memory"), "?tier=memory": contract.TiersOf("memory"), "?tier=talk": contract.TiersOf("talk"),
		"?tier=all": contract.TiersOf("all"),
	} {
		g.call(http.MethodGet, ines+"/memories"+query, "").expect(t, 200,
			map[string]any{"memories.0.tier": "talk", "memories.1.tier": nil})
		if asked := g.behind.asked.(*mnemev1.ListMemoriesRequest); !slices.Equal(asked.GetTiers(), want) {
			t.Errorf("%q: asked for %v, want %v", query, asked.GetTiers(), want)
		}
	}
	g.call(http.MethodGet, ines+"/memories?tier=memories", "").expect(t, 400,
		map[string]any{"errors.0.field": "tier", "errors.0.location": "query"})
}

func TestACursorIsOfTheListThatItWasMadeFor(t *testing.T) {
	g := open(t)
	g.letters.all = letterList(3)
	filtered := ines + "/memories?limit=1&status=active&status=retracted"
	next := func(path string) string {
		t.Helper()
		cursor, _ := g.call(http.MethodGet, path, "").field("next_cursor").(string)
		if cursor == "" {
			t.Fatalf("%s has one page", path)
		}
		return cursor
	}
	all, some, dead := next(ines+"/memories?limit=1"), next(filtered), next(self+"/dead-letters?limit=1")
	for path, key := range map[string]string{
		ines + "/memories?cursor=" + all: "BETA", self + "/users/ben/memories?cursor=" + all: "ALL",
		ines + "/memories?status=active&cursor=" + all: "ALL",
		ines + "/memories?cursor=" + some:              "ALL", ines + "/memories?status=active&cursor=" + some: "ALL",
		ines + "/memories?cursor=" + dead:    "ALL",
		self + "/dead-letters?cursor=" + all: "ALL", self + "/dead-letters?cursor=" + dead: "BETA",
	} {
		a := g.call(http.MethodGet, path, "", "Authorization: Bearer "+key)
		a.expect(t, 400, map[string]any{"errors.0.field": "cursor", "errors.0.location": "query"})
	}
	g.call(http.MethodPost, ines+"/import?cursor="+all, "{}\n", "Content-Type: application/x-ndjson").expect(t, 400,
		map[string]any{
			"errors.0.field": "cursor",
		})
	g.call(http.MethodGet, ines+"/memories?limit=2&status=retracted&status=active&cursor="+some, "").expect(t, 200, nil)
}

func TestIDsOfMemoriesInUpperCase(t *testing.T) {
	g := open(t)
	g.call(http.MethodGet, ines+"/memories/"+strings.ToUpper(first), "").expect(t, 200, map[string]any{"id": first})
	if asked := g.behind.asked.(*mnemev1.GetMemoryRequest); asked.GetMemoryId() != first {
		t.Errorf("asked for %v", asked)
	}
}

func TestHEADIsAnsweredAsGETIsWithoutABody(t *testing.T) {
	g := open(t)
	for _, path := range []string{ines + "/memories", ines + "/memories/" + first, ines + "/memories/x", self + "/keys",
		"/openapi.json", "/docs"} {
		get, head := g.call(http.MethodGet, path, ""), g.call(http.MethodHead, path, "")
		if head.status != get.status || head.text != "" {
			t.Errorf("%s is answered %d %q, GET %d", path, head.status, head.text, get.status)
		}
		for _, name := range []string{"Content-Type", "ETag"} {
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("%s has %s %q, GET %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
	}
	if a := g.call(http.MethodHead, ines+"/recall", ""); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("a path without GET is answered %d, allowed %q", a.status, a.header.Get("Allow"))
	}
	if a := g.call(http.MethodPut, ines+"/core", ""); a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("PUT is answered %d, allowed %q", a.status, a.header.Get("Allow"))
	}
}

func TestListsOfEveryFormThatIsNone(t *testing.T) {
	g := open(t)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=1001": "limit", "limit=99999999999999999999": "limit",
		"limit=":     "limit",
		"limit=ten":  "limit",
		"limit=%2B5": "limit", "limit=1.0": "limit", "limit=1&limit=2": "limit", "status=gone": "status",
		"status=active,retracted": "status",
		"status=":                 "status", "cursor=": "cursor", "cursor=%00": "cursor", "cursor=A": "cursor",
		"cursor=_w":                           "cursor",
		"cursor=eA":                           "cursor",
		"cursor=" + strings.Repeat("A", 2000): "cursor", "user=ben": "user", "Limit=5": "Limit", "limit=%FF": "limit",
		"a%":  "query",
		"a;b": "query",
	} {
		code := map[bool]string{true: "invalid_cursor", false: "invalid"}[field == "cursor"]
		g.call(http.MethodGet, ines+"/memories?"+query, "").expect(t, 400, map[string]any{
			"errors.0.field": field, "errors.0.location": "query", "code": code,
		})
	}
}

func TestAMemoryIsSentOnce(t *testing.T) {
	g := open(t)
	for _, path := range []string{ines + "/memories/" + first, ines + "/memories/" + first + "/history", ines + "/core"} {
		a := g.call(http.MethodGet, path, "")
		a.expect(t, 200, nil)
		tag := a.header.Get("ETag")
		if !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) {
			t.Fatalf("%s: ETag %q", path, tag)
		}
		for header, want := range map[string]int{tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200,
			"other": 200} {
			b := g.call(http.MethodGet, path, "", "If-None-Match: "+header)
			if b.status != want || b.header.Get("ETag") != tag || (b.text == "") != (want == 304) {
				t.Errorf("%s with %s: %d %q", path, header, b.status, b.text)
			}
		}
	}
	before := g.call(http.MethodGet, ines+"/memories/"+first, "").header.Get("ETag")
	g.behind.memories[0].Status = mnemev1.Status_STATUS_SUPERSEDED
	after := g.call(http.MethodGet, ines+"/memories/"+first, "", "If-None-Match: "+before)
	after.expect(t, 200, map[string]any{"status": "superseded", "source_turns.0.text": "I live in Porto.",
		"source_turns.0.role": "user"})
	if after.header.Get("ETag") == before {
		t.Error("the ETag of another state is the same")
	}
}

func TestAChangeOfWhatWasReadOnly(t *testing.T) {
	g := open(t)
	one := ines + "/memories/" + first
	tag := g.call(http.MethodGet, one, "").header.Get("ETag")
	changes := []struct {
		method, path, body string
		asked              any
	}{
		{http.MethodPatch, one, `{"content":"I live in Lisbon."}`, &mnemev1.UpdateMemoryRequest{}},
		{http.MethodDelete, one, "", &mnemev1.DeleteMemoryRequest{}},
		{http.MethodPost, one + "/release", "", &mnemev1.ReleaseMemoryRequest{}},
	}
	for i, c := range changes {
		for header, want := range map[string]int{
			tag: 200, `"other", ` + tag: 200, "*": 200, `"other"`: 412, "W/" + tag: 412, "x": 412,
		} {
			a := g.call(c.method, c.path, c.body, "If-Match: "+header, fmt.Sprintf("Idempotency-Key: %d/%x", i, header))
			if a.expect(t, want, nil); want == 412 {
				a.expect(t, 412, map[string]any{"code": "precondition_failed", "errors.0.field": "If-Match",
					"errors.0.location": "header"})
			}
			if done := reflect.TypeOf(g.behind.asked) == reflect.TypeOf(c.asked); done != (want == 200) {
				t.Errorf("%s %s with %s: asked for %T", c.method, c.path, header, g.behind.asked)
			}
		}
	}
	g.behind.memories[0].Status = mnemev1.Status_STATUS_SUPERSEDED
	for _, c := range changes {
		g.call(c.method, c.path, c.body, "If-Match: "+tag, "Idempotency-Key: later").expect(t, 412, nil)
	}
	g.call(http.MethodDelete, ines+"/memories/"+other, "", "If-Match: *").expect(t, 404, nil)
}

func TestHistoryWorkingMemoryAndCore(t *testing.T) {
	g := open(t)
	g.call(http.MethodGet, ines+"/memories/"+first+"/history", "").expect(t, 200, map[string]any{"versions.0.id": first})
	if asked := g.behind.asked.(*mnemev1.GetMemoryHistoryRequest); asked.GetUserId() != "ines" {
		t.Errorf("asked for %v: whoever has the memory", asked)
	}
	g.call(http.MethodGet, ines+"/working-memory", "").expect(t, 200,
		map[string]any{"turns.0.text": "for ines", "turns.0.role": "assistant"})
	g.call(http.MethodGet, ines+"/core", "").expect(t, 200, map[string]any{
		"content": "lives in Porto", "version": 3, "updated_at": now, "lines.0.text": "Porto", "lines.0.memory_ids.0": first,
	})
}

func TestAMemoryInTheCallersWords(t *testing.T) {
	g := open(t)
	add := func(body, key string) answer {
		return g.call(http.MethodPost, ines+"/memories", body, "Idempotency-Key: "+key)
	}
	add(`{"content":"Likes tea.","kind":"preference","session_id":"s","speaker":"Ines","role":"assistant","turn_id":"t7"}`,
		"k1").expect(
		t, 201, map[string]any{"id": other, "content": "Likes tea.", "kind": "preference", "session_id": "s",
			"source_turn_ids.0": "t7"})
	turn := g.behind.asked.(*mnemev1.AddMemoryRequest).GetTurn()
	if turn.GetSpeaker() != "Ines" || turn.GetRole() != mnemev1.Role_ROLE_ASSISTANT ||
		!turn.GetTime().AsTime().Equal(now) {
		t.Errorf("asked for %v", turn)
	}
	a := add(`{"content":"Likes tea."}`, "k2")
	a.expect(t, 201, map[string]any{"session_id": "verbatim"})
	turn = g.behind.asked.(*mnemev1.AddMemoryRequest).GetTurn()
	if turn.GetSpeaker() != "user" || turn.GetRole() != mnemev1.Role_ROLE_USER || turn.GetTurnId() == "" {
		t.Errorf("asked for %v", turn)
	}
	calls := len(g.behind.calls)
	if b := add(`{"content":"Likes tea."}`, "k2"); b.text != a.text || len(g.behind.calls) != calls {
		t.Errorf("again: %s", b.text)
	}
	add(`{"content":"Likes coffee."}`, "k2").expect(t, 422, nil)
	g.call(http.MethodPost, ines+"/memories", `{"content":"Likes tea."}`).expect(t, 400,
		map[string]any{"errors.0.field": "Idempotency-Key"})
	for body, field := range map[string]string{
		`{}`: "content", `{"content":" "}`: "content", `{"content":"a","kind":"gossip"}`: "kind",
		`{"content":"a","session_id":""}`: "session_id",
		`{"content":"a","role":"tool"}`:   "role", `{"content":"a","id":"x"}`: "id", `{"content":"a","speaker":7}`: "speaker",
	} {
		add(body, "k3").expect(t, 400, map[string]any{"errors.0.field": field, "errors.0.location": "body"})
	}
	g.behind.fail = connect.NewError(connect.CodeInvalidArgument, errors.New("turn.time: is in the year 2045"))
	add(`{"content":"a","time":"2045-01-01T00:00:00Z"}`, "k4").expect(t, 400, map[string]any{
		"errors.0.field": "time", "errors.0.message": "is in the year 2045",
	})
}

func TestAMemoryIsChanged(t *testing.T) {
	g := open(t)
	one := ines + "/memories/" + first
	a := g.call(http.MethodPatch, one, `{"content":"Lives in Faro."}`, "Idempotency-Key: k1")
	a.expect(t, 200, map[string]any{"id": other, "content": "Lives in Faro.", "version": 2, "predecessor_ids.0": first})
	calls := len(g.behind.calls)
	b := g.call(http.MethodPatch, one, `{"content":"Lives in Faro."}`, "Idempotency-Key: k1")
	if b.text != a.text || len(g.behind.calls) != calls {
		t.Errorf("again: %s", b.text)
	}
	g.call(http.MethodPatch, one, `{"content":"Lives in Faro."}`).expect(t, 400,
		map[string]any{"errors.0.field": "Idempotency-Key"})
	g.call(http.MethodPatch, one, `{"content":"a","kind":"fact"}`, "Idempotency-Key: k2").expect(t, 400, map[string]any{
		"errors.0.field": "kind",
	})
	g.call(http.MethodDelete, one, "").expect(t, 200, map[string]any{"id": first})
	g.call(http.MethodPost, one+"/release", "").expect(t, 200, map[string]any{"id": first})
	g.behind.fail = rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonSuperseded,
		errors.New("the memory is superseded"))
	g.call(http.MethodDelete, one, "").expect(t, 409,
		map[string]any{"code": "memory_superseded", "detail": "the memory is superseded"})
	g.call(http.MethodPost, one+"/release", "").expect(t, 409, nil)
}

func TestAMemoryThatIsNone(t *testing.T) {
	g := open(t)
	for _, m := range []string{http.MethodGet, http.MethodDelete} {
		g.call(m, ines+"/memories/"+other, "").expect(t, 404, map[string]any{"code": "not_found"})
		for _, id := range []string{"", "x", other + "0", "%FF", "..%2F" + first, strings.Repeat("x", 10<<10)} {
			g.call(m, ines+"/memories/"+id, "").expect(t, 400,
				map[string]any{"errors.0.field": "memory", "errors.0.location": "path"})
		}
	}
	g.call(http.MethodPatch, ines+"/memories/"+other, `{"content":"a"}`, "Idempotency-Key: k").expect(t, 404, nil)
}
