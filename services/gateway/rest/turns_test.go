package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	session = ines + "/sessions/s"
	oneTurn = `{"turns":[{"role":"user","text":"I like tea."}]}`
)

// events decodes the published messages.
func events(t *testing.T, msgs []bus.Message) (out []contract.SessionEvent) {
	t.Helper()
	for _, m := range msgs {
		e, err := contract.DecodeSessionEvent(m.Key, m.Value, now)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestTurnsAreOnKafkaBeforeTheyAreAccepted(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicSessionEvents)
	g := open(t, broker.Publisher())
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[
		{"id":"t1","speaker":"Ines","role":"user","text":"I live in Porto.","caption":"a river","time":"2026-01-01T10:00:00+02:00"},
		{"role":"assistant","text":"Lovely."}]}`, "Idempotency-Key: k1")
	a.expect(t, 202, map[string]any{"turns.0.id": "t1", "turns.0.status_url": ines + "/turns/t1"})
	var msgs []bus.Message
	if err := bus.ScanLog(t.Context(), broker.Log(contract.TopicSessionEvents), func(m bus.Message) {
		msgs = append(msgs, m)
	}); err != nil {
		t.Fatal(err)
	}
	got := events(t, msgs)
	if len(got) != 2 || got[0].Scope != (memory.Scope{Tenant: "acme", User: "ines"}) || got[0].SessionID != "s" {
		t.Fatalf("published %+v", got)
	}
	said := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	if turn := *got[0].Turn; turn.ID != "t1" || turn.Speaker != "Ines" || turn.Caption != "a river" ||
		!turn.Time.Equal(said) {
		t.Errorf("the first is %+v", turn)
	} else if clock := turn.Time.Format(time.RFC3339); clock != "2026-01-01T10:00:00+02:00" {
		t.Errorf("the first is at %s, want the time in its offset", clock)
	}
	turn := *got[1].Turn
	if turn.ID != a.field("turns.1.id") || turn.Speaker != "assistant" || turn.Role != memory.RoleAssistant ||
		!turn.Time.Equal(now) {
		t.Errorf("the second is %+v", turn)
	}
}

func TestASessionMayEndWhenItIsIdle(t *testing.T) {
	g := open(t)
	for i, c := range []struct {
		body   string
		status int
		want   time.Duration
	}{
		{`{"turns":[{"role":"user","text":"I like tea."}],"idle_after_seconds":1}`, 202, time.Second},
		{`{"turns":[{"role":"user","text":"I like tea."}],"idle_after_seconds":86400}`, 202, 24 * time.Hour},
		{oneTurn, 202, 0},
		{`{"turns":[{"role":"user","text":"I like tea."}],"idle_after_seconds":0}`, 400, 0},
		{`{"turns":[{"role":"user","text":"I like tea."}],"idle_after_seconds":86401}`, 400, 0},
	} {
		g.out.msgs = nil
		a := g.call(http.MethodPost, session+"/turns", c.body, fmt.Sprint("Idempotency-Key: k", i))
		if a.expect(t, c.status, nil); c.status != 202 {
			a.expect(t, c.status, map[string]any{"errors.0.field": "idle_after_seconds"})
			continue
		}
		if got := events(t, g.out.msgs); len(got) != 1 || got[0].IdleAfter != c.want {
			t.Errorf("%s: published %+v, want an idle time of %s", c.body, got, c.want)
		}
	}
}

// A turn with the id of another turn would have no effect. The gateway leaves it out and accepts the others.
func TestATurnWithAnIDOfAnotherIsLeftOut(t *testing.T) {
	g := open(t)
	put := func(path, turns, key string) answer {
		return g.call(http.MethodPost, path+"/turns", `{"turns":[`+turns+`]}`, "Idempotency-Key: "+key)
	}
	const one, other = `{"id":"t1","role":"user","text":"I live in Porto."}`,
		`{"id":"t1","role":"user","text":"I live in Faro."}`
	const hello, blank = `{"role":"user","text":"Hello."}`, `{"role":"user","text":" "}`
	put(session, one, "k1").expect(t, 202, nil)
	put(session, one, "k2").expect(t, 202, nil) // put in again: it has no effect
	put(session, other+","+hello+","+blank, "k3").expect(t, 207, map[string]any{
		"results.0.status": "left_out", "results.0.problem.code": "turn_id_used", "results.0.problem.field": "turns[0].id",
		"results.1.status": "accepted", "results.2.problem.code": "invalid",
	})
	put(self+"/users/ines/sessions/another", hello+","+one, "k4").expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.1.problem.code": "turn_id_used", "results.1.turn_id": "t1",
	})
	refused := map[string]any{"code": "turn_id_used", "errors.0.field": "turns[0].id"}
	put(session, other, "k5").expect(t, 409, refused)
	put(session, other+","+blank, "k6").expect(t, 409, refused)
	put(session, blank+","+other, "k7").expect(t, 400, map[string]any{"code": "invalid", "errors.1.field": "turns[1].id"})
	var texts []string
	for _, e := range events(t, g.out.msgs) {
		texts = append(texts, e.Turn.Text)
	}
	if want := []string{"I live in Porto.", "I live in Porto.", "Hello.", "Hello."}; !slices.Equal(texts, want) {
		t.Errorf("published are %q, want %q", texts, want)
	}
	put(self+"/users/ben/sessions/s", other, "k8").expect(t, 202, nil)
}

func TestARepeatedBatchIsPublishedOnce(t *testing.T) {
	g := open(t)
	put := func(path, body, key string) answer {
		return g.call(http.MethodPost, path, body, "Idempotency-Key: "+key)
	}
	first := put(session+"/turns", oneTurn, "k1")
	again := put(session+"/turns", oneTurn, "k1")
	if len(g.out.msgs) != 1 || first.text != again.text || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("published %d events; %s, then %s", len(g.out.msgs), first.text, again.text)
	}
	put(session+"/turns", strings.ReplaceAll(oneTurn, "tea", "coffee"), "k1").expect(t, 422, map[string]any{
		"errors.0.field": "Idempotency-Key",
	})
	ids := []any{first.field("turns.0.id")}
	for _, a := range []answer{
		put(session+"/turns", oneTurn, "k2"), put(ines+"/sessions/other/turns", oneTurn, "k1"),
		g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1", "Authorization: Bearer BETA"),
	} {
		a.expect(t, 202, nil)
		ids = append(ids, a.field("turns.0.id"))
	}
	if len(g.out.msgs) != 4 || ids[0] == ids[1] || ids[0] == ids[2] {
		t.Errorf("published %d events of %v", len(g.out.msgs), ids)
	}
}

func TestTheSameKeyMakesTheSameIDsAfterAFailure(t *testing.T) {
	g := open(t)
	g.out.err = fmt.Errorf("%w: broker 10.0.0.1", fault.ErrUnavailable)
	a := g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1")
	a.expect(t, 503, map[string]any{"code": "unavailable"})
	if a.header.Get("Retry-After") == "" || strings.Contains(a.text, "10.0.0.1") ||
		!strings.Contains(g.log.String(), "10.0.0.1") {
		t.Errorf("%v %s; logged %s", a.header, a.text, g.log)
	}
	g.out.err = nil
	b := g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1")
	b.expect(t, 202, nil)
	if e := events(t, g.out.msgs); e[0].Turn.ID != b.field("turns.0.id") {
		t.Errorf("published %s, answered %v", e[0].Turn.ID, b.field("turns.0.id"))
	}
}

func TestWhatAClientHandlesOtherwiseHasACodeOfItsOwn(t *testing.T) {
	g := open(t)
	put := func(body string) answer {
		return g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k1")
	}
	put(`{"turns":[{"id":"t","role":"user","text":"a"},{"id":"t","role":"user","text":"b"}]}`).expect(t, 400,
		map[string]any{"code": "duplicate_turn", "errors.0.field": "turns[1].id", "errors.0.location": "body"})
	put(`{"turns":`).expect(t, 400, map[string]any{"code": "malformed_body"})
	put(`{"turns":[{"role":"user","text":"ok \ud83d\ude00"},{"role":"user","text":"cut \ud83d"}]}`).expect(t, 400,
		map[string]any{"code": "malformed_body", "errors.0.field": "turns[1].text", "errors.0.location": "body"})
	put(oneTurn).expect(t, 202, nil)
	put(`{"turns":[{"role":"user","text":"another"}]}`).expect(t, 422, map[string]any{"code": "idempotency_key_reused"})
	g.call(http.MethodPut, session+"/turns", "").expect(t, 405, map[string]any{"code": "method_not_allowed"})
	g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k2", "Content-Type: text/plain").expect(t, 415,
		map[string]any{"code": "unsupported_media_type"})
	g.call(http.MethodGet, self+"/users/ines/memories?cursor=x", "").expect(t, 400,
		map[string]any{"code": "invalid_cursor"})
}

func TestWithoutRedisNoTurnIsTaken(t *testing.T) {
	g := open(t)
	g.redis.Close()
	a := g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1")
	a.expect(t, 503, map[string]any{"code": "unavailable"})
	if len(g.out.msgs) > 0 || a.header.Get("Retry-After") == "" {
		t.Errorf("published %d events", len(g.out.msgs))
	}
	g.call(http.MethodGet, ines+"/turns/t1", "").expect(t, 503, nil)
	g.call(http.MethodPost, ines+"/recall", `{"query":"where"}`).expect(t, 200, nil)
}

func TestIdentifiersMayHoldAnything(t *testing.T) {
	g := open(t)
	for i, id := range []string{
		"a/b", "...", "a/../b", "%2F", "日本 🚲", "?x=1&y#z", `a"b\`, "+", "a|b", "ines@example.com", strings.Repeat("u", 128),
		strings.Repeat("é", 64),
	} {
		escaped := strings.ReplaceAll(url.PathEscape(id), ".", "%2E")
		path := self + "/users/" + escaped
		a := g.call(http.MethodPost, path+"/sessions/"+escaped+"/turns",
			fmt.Sprintf(`{"turns":[{"id":%q,"role":"user","text":"tea"}]}`, "t"),
			fmt.Sprintf("Idempotency-Key: k%d", i))
		a.expect(t, 202, nil)
		e := events(t, g.out.msgs)
		if last := e[len(e)-1]; last.Scope.User != id || last.SessionID != id {
			t.Errorf("%q became %+v", id, last.Envelope)
		}
		status, _ := a.field("turns.0.status_url").(string)
		g.call(http.MethodGet, status, "").expect(t, 200, map[string]any{"id": "t", "status": "accepted"})
		g.call(http.MethodPost, path+"/recall", `{"query":"tea"}`).expect(t, 200, nil)
		if asked := g.behind.asked.(*mnemev1.RecallRequest); asked.GetUserId() != id {
			t.Errorf("%q was asked for as %q", id, asked.GetUserId())
		}
	}
	for _, id := range []string{"..", ".", "a\nb", "a\u200bb"} { // of an older version
		path := self + "/users/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E")
		a := g.call(http.MethodPost, path+"/sessions/s/turns", oneTurn, "Idempotency-Key: old")
		a.expect(t, 400, map[string]any{"errors.0.field": "user", "errors.0.location": "path"})
		put := g.call(http.MethodPost, path+"/items/batch", operationsOf(putOf("a", "k", `{}`)))
		put.expect(t, 400, map[string]any{"errors.0.field": "user"})
		appended := g.call(http.MethodPost, path+"/sessions/s/items", `{"items":[{}]}`, "Idempotency-Key: old")
		appended.expect(t, 400, map[string]any{"errors.0.field": "user"})
		g.call(http.MethodPost, path+"/recall", `{"query":"tea"}`).expect(t, 200, nil)
		g.call(http.MethodGet, path+"/core", "").expect(t, 200, nil)
		g.call(http.MethodGet, path+"/sessions/s/items", "").expect(t, 200, nil)
		g.call(http.MethodDelete, path, "").expect(t, 202, nil)
	}
	long := strings.Repeat("u", 256)
	g.call(http.MethodGet, self+"/users/"+long+"/core", "").expect(t, 200, nil)
	for _, id := range []string{"", "%20", "%FF", "%00", "a%00b", long + "u", strings.Repeat("%C3%A9", 129),
		strings.Repeat("x", 10<<10)} {
		g.call(http.MethodGet, self+"/users/"+id+"/core", "").expect(t, 400,
			map[string]any{"errors.0.location": "path", "errors.0.field": "user", "code": "invalid"})
	}
}

func TestDotsInPathsAreNotResolved(t *testing.T) {
	g := open(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = self + "/users/../core"
	r.Header.Set("Authorization", "Bearer ALL")
	g.do(r).expect(t, 200, nil)
	if asked := g.behind.asked.(*mnemev1.GetCoreRequest); asked.GetUserId() != ".." {
		t.Errorf("asked for %q", asked.GetUserId())
	}
}

func TestSessions(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, session+"/close", "").expect(t, 202, map[string]any{"status_url": session})
	g.call(http.MethodPost, session+"/close", `{}`).expect(t, 202, nil)
	for range 2 {
		g.call(http.MethodPost, session+"/close", `{"last_turn_id":"t9"}`).expect(t, 202, nil)
	}
	e := events(t, g.out.msgs)
	if len(e) != 4 || e[0].SessionID != "s" || !e[0].ClosedAt.Equal(now) || e[0].EventID == e[1].EventID ||
		e[2].EventID != e[3].EventID {
		t.Errorf("published %+v", e)
	}
	g.call(http.MethodGet, session, "").expect(t, 200, map[string]any{
		"state": "formed", "formed_at": now, "turns": 4, "operations": 2,
	})
	if asked := g.behind.asked.(*mnemev1.GetSessionRequest); asked.GetUserId() != "ines" || asked.GetSessionId() != "s" {
		t.Errorf("asked for %v", asked)
	}
}

func TestWhatBecameOfATurn(t *testing.T) {
	g := open(t)
	status := func(id string) answer { return g.call(http.MethodGet, ines+"/turns/"+id, "") }
	g.behind.states["r"] = &mnemev1.TurnStatus{
		TurnId: "r", State: mnemev1.TurnState_TURN_STATE_REMEMBERED, MemoryIds: []string{first},
		Saliency: &mnemev1.SaliencyDecision{Score: 0.9, Threshold: 0.5, DecidedAt: timestamppb.New(now)},
	}
	g.behind.states["k"] = &mnemev1.TurnStatus{TurnId: "k", State: mnemev1.TurnState_TURN_STATE_KEPT,
		TalkIds: []string{second}}
	g.behind.states["d"] = &mnemev1.TurnStatus{
		TurnId: "d", State: mnemev1.TurnState_TURN_STATE_DROPPED,
		Saliency: &mnemev1.SaliencyDecision{Score: 0.1, Threshold: 0.5, PolicyVersion: "f/1"},
	}
	g.letters.ofTurns = map[string]deadletters.Letter{"ines dead": {ID: "l1", Reason: "is empty", Field: "turn.text",
		Handler: "filter", Time: now}}
	status("r").expect(t, 200, map[string]any{
		"status": "remembered", "memory_ids.0": first, "saliency.score": 0.9, "saliency.decided_at": now,
	})
	status("k").expect(t, 200, map[string]any{"status": "kept", "talk_ids.0": second, "saliency": nil})
	status("d").expect(t, 200, map[string]any{
		"status": "dropped", "saliency.score": 0.1, "saliency.threshold": 0.5, "saliency.policy_version": "f/1",
	})
	status("dead").expect(t, 200, map[string]any{"status": "dead_letter", "dead_letter.id": "l1",
		"dead_letter.reason": "is empty"})
	status("never").expect(t, 404, map[string]any{"code": "not_found"})
	g.call(http.MethodPost, session+"/turns", `{"turns":[{"id":"mine","role":"user","text":"tea"}]}`,
		"Idempotency-Key: k").expect(t, 202, nil)
	status("mine").expect(t, 200, map[string]any{"status": "accepted"})
	g.call(http.MethodGet, self+"/users/ben/turns/mine", "").expect(t, 404, nil)
	g.call(http.MethodGet, ines+"/turns/mine", "", "Authorization: Bearer BETA").expect(t, 404, nil)
	if err := g.repeatable.Erase(t.Context(), memory.Scope{Tenant: "acme", User: "ines"}, "e1"); err != nil {
		t.Fatal(err)
	}
	status("mine").expect(t, 404, nil)
}
