package rest_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
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

func TestTurnsOfEveryFormThatIsNone(t *testing.T) {
	g := open(t)
	turn := func(fields string) string { return `{"turns":[{"role":"user","text":"a"},{` + fields + `}]}` }
	for name, c := range map[string]struct{ body, field string }{
		"no turns":     {`{}`, "turns"},
		"none":         {`{"turns":[]}`, "turns"},
		"one, no list": {`{"turns":{}}`, "turns"},
		"null":         {`{"turns":null}`, "turns"},
		"too many": {`{"turns":[` + strings.Repeat(`{"role":"user","text":"a"},`, 200) +
			`{"role":"user","text":"a"}]}`, "turns"},
		"no object":        {`{"turns":["a"]}`, "turns[0]"},
		"no role":          {turn(`"text":"a"`), "turns[1].role"},
		"a number":         {turn(`"role":"user","text":7`), "turns[1].text"},
		"a null id":        {turn(`"role":"user","text":"a","id":null`), "turns[1].id"},
		"no time":          {turn(`"role":"user","text":"a","time":"yesterday"`), "turns[1].time"},
		"another case":     {turn(`"role":"user","Text":"a"`), "turns[1].Text"},
		"an unknown field": {turn(`"role":"user","text":"a","tenant":"beta"`), "turns[1].tenant"},
		"an unknown one":   {`{"turns":[{"role":"user","text":"a"}],"user_id":"ben"}`, "user_id"},
		"no object at all": {`[]`, "body"},
		"an empty body":    {` `, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.call(http.MethodPost, session+"/turns", c.body, "Idempotency-Key: "+strings.ReplaceAll(name, " ", "-"))
			a.expect(t, 400, map[string]any{"code": "invalid", "errors.0.field": c.field, "errors.0.location": "body"})
			if len(a.text) > 1000 {
				t.Errorf("the answer repeats what was sent: %d bytes", len(a.text))
			}
		})
	}
	if len(g.out.msgs) > 0 || slices.ContainsFunc(g.behind.calls, func(string) bool { return true }) {
		t.Errorf("published %d events, asked %v", len(g.out.msgs), g.behind.calls)
	}
}

func TestATurnWhoseValuesAreNotAcceptedIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct{ turn, field, detail string }{
		"another role":  {`"role":"narrator","text":"a"`, "role", `is "narrator", want user or assistant`},
		"an empty text": {`"role":"user","text":""`, "text", "is empty, want 1 to 524288 bytes"},
		"a blank text":  {`"role":"user","text":" \n"`, "text", "is empty, want 1 to 524288 bytes"},
		"a NUL":         {`"role":"user","text":"a\u0000"`, "text", "contains a NUL character"},
		"a text too long": {`"role":"assistant","text":"` + strings.Repeat("é", 256<<10) + `x"`, "text",
			"is 524289 bytes long, want at most 524288"},
		"an id too long": {`"role":"user","text":"a","id":"` + strings.Repeat("x", 129) + `"`, "id",
			"is 129 bytes long, want at most 128"},
		"an id of 10 KB": {`"role":"user","text":"a","id":"` + strings.Repeat("x", 10<<10) + `"`, "id",
			"is 10240 bytes long, want at most 128"},
		"a hidden id":     {`"role":"user","text":"a","id":"t\u200b"`, "id", "contains a control or invisible character"},
		"a blank caption": {`"role":"user","text":"a","caption":" "`, "caption", "is empty, want 1 to 4096 bytes"},
		"a long caption": {`"role":"tool","text":"","caption":"` + strings.Repeat("x", 4097) + `"`, "caption",
			"is 4097 bytes long, want at most 4096"},
		"a long speaker": {`"role":"user","text":"a","speaker":"` + strings.Repeat("x", 129) + `"`, "speaker",
			"is 129 bytes long, want at most 128"},
		"two lines": {`"role":"user","text":"a","speaker":"Ana\nBen"`, "speaker",
			"contains a control or invisible character"},
		"a time to come": {`"role":"user","text":"a","time":"2026-01-04T00:00:00Z"`, "time",
			"is in the year 2026, want between 1970-01-01 and one day from now"},
		"a time before": {`"role":"user","text":"a","time":"1969-12-31T23:59:59Z"`, "time",
			"is in the year 1969, want between 1970-01-01 and one day from now"},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t)
			put := func(body string) answer { return g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k") }
			body := `{"turns":[{"id":"first","role":"user","text":"I live in Braga."},{` + c.turn +
				`},{"role":"user","text":"I moved to Faro."}]}`
			a := put(body)
			a.expect(t, 207, map[string]any{
				"results.0.turn_id": "first", "results.0.status": "accepted", "results.0.status_url": ines + "/turns/first",
				"results.0.problem": nil,
				"results.1.status":  "left_out", "results.1.status_url": nil, "results.2.status": "accepted",
				"results.1.problem": map[string]any{"code": "invalid", "field": "turns[1]." + c.field, "detail": c.detail},
			})
			if e := events(t, g.out.msgs); len(e) != 2 || e[0].Turn.Text != "I live in Braga." ||
				e[1].Turn.Text != "I moved to Faro." {
				t.Errorf("published %+v", e)
			}
			if len(a.text) > 1000 {
				t.Errorf("the answer repeats what was sent: %d bytes", len(a.text))
			}
			if again := put(body); again.status != 207 || again.text != a.text || again.header.Get(idempotency.Replayed) == "" ||
				len(g.out.msgs) != 2 {
				t.Errorf("repeated: %d %s", again.status, again.text)
			}
			alone := g.call(http.MethodPost, session+"/turns", `{"turns":[{`+c.turn+`},{`+c.turn+`}]}`, "Idempotency-Key: alone")
			if strings.Contains(c.turn, `"id"`) {
				alone = g.call(http.MethodPost, session+"/turns", `{"turns":[{`+c.turn+`}]}`, "Idempotency-Key: alone")
			} else if alone.field("errors.1.field") != "turns[1]."+c.field {
				t.Errorf("the second one is not named: %s", alone.text)
			}
			alone.expect(t, 400, map[string]any{
				"code": "invalid", "errors.0.field": "turns[0]." + c.field, "errors.0.location": "body",
				"errors.0.message": c.detail,
			})
			if len(g.out.msgs) != 2 {
				t.Errorf("published %d events", len(g.out.msgs))
			}
		})
	}
}

func TestALongTurnIsAcceptedShortened(t *testing.T) {
	g := open(t)
	log := strings.Repeat("2026-01-02T03:04:05Z ERROR billing: timeout\\n", 9000)
	put := func() answer {
		return g.call(http.MethodPost, session+"/turns",
			`{"turns":[{"role":"user","text":"See: `+log+`"},{"role":"user","text":"a"}]}`, "Idempotency-Key: k")
	}
	a := put()
	a.expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.0.problem": nil, "results.1.status": "accepted",
		"results.1.shortened_by": nil,
	})
	by, _ := a.field("results.0.shortened_by").(float64)
	e := events(t, g.out.msgs)
	if len(e) != 2 || len(e[0].Turn.Text) > memory.MaxTextBytes || !strings.HasPrefix(e[0].Turn.Text, "See: 2026") ||
		!strings.HasSuffix(e[0].Turn.Text, "timeout\n") || !strings.Contains(e[0].Turn.Text, " bytes left out ...]") ||
		by < 300<<10 {
		t.Errorf("shortened by %f, %d bytes", by, len(e[0].Turn.Text))
	}
	if again := put(); again.text != a.text || len(g.out.msgs) != 2 {
		t.Errorf("repeated: %s", again.text)
	}
	many := `{"turns":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","text":"`+
		strings.Repeat("x", memory.MaxTurnBytes)+`"},`, 15), ",") + `]}`
	g.call(http.MethodPost, session+"/turns", many, "Idempotency-Key: many").expect(t, 207,
		map[string]any{"results.14.status": "accepted"})
}

func TestTheMessagesOfChatCompletions(t *testing.T) {
	g := open(t)
	call := `{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"c","function":{"name":"f"}}]}`
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[{"role":"system","content":"Be brief."},`+call+`,
		{"role":"tool","tool_call_id":"c","content":"42"},{"role":"developer","text":"x"},
		{"role":"user","name":"Ines","content":[{"type":"text","text":"I swim."},{"type":"image_url","image_url":{"url":"data:x"}},
			{"type":"image_url","image_url":{"url":"data:x"},"text":"a pool"},{"type":"input_text","text":"Daily."}]},
		{"role":"assistant","content":"Good.","tool_calls":null}]}`, "Idempotency-Key: k")
	a.expect(t, 207, map[string]any{
		"results.0.status": "not_remembered", "results.0.reason": "instructions for the assistant are not remembered",
		"results.0.problem": nil,
		"results.1.status":  "not_remembered", "results.2.reason": "calls and results of tools are not remembered",
		"results.3.status": "not_remembered", "results.4.status": "accepted", "results.5.status": "accepted",
	})
	e := events(t, g.out.msgs)
	if len(e) != 2 || e[0].Turn.Text != "I swim.\nDaily." || e[0].Turn.Caption != "a pool" ||
		e[0].Turn.Speaker != "Ines" || e[1].Turn.Text != "Good." {
		t.Errorf("published %+v", e)
	}
	g.call(http.MethodPost, session+"/turns", `{"turns":[`+call+`]}`, "Idempotency-Key: alone").expect(t, 207,
		map[string]any{
			"results.0.status": "not_remembered", "results.0.status_url": nil,
		})
	for turn, field := range map[string]string{
		`"role":"user","content":7`: "turns[0].content", `"role":"user","content":["a"]`: "turns[0].content[0]",
		`"role":"user","content":"a","text":"a"`:                  "turns[0].content",
		`"role":"user","content":{"type":"text","text":"I swim"}`: "turns[0].content",
		`"role":"user","content":[]`:                              "turns[0].text",
		`"role":"assistant","tool_calls":[]`:                      "turns[0].text",
		`"role":"assistant","refusal":7`:                          "turns[0].refusal",
		`"role":"user"`:                                           "turns[0].text",
		`"role":"tool","text":"a\u0000b"`:                         "turns[0].text",
	} {
		g.call(http.MethodPost, session+"/turns", `{"turns":[{`+turn+`}]}`,
			"Idempotency-Key: "+field+turn[:9]+fmt.Sprint(len(turn))).
			expect(t, 400, map[string]any{"errors.0.field": field})
	}
}

// The caption of a picture is the text of a turn without another text.
func TestACaptionIsTheTextOfATurnWithoutText(t *testing.T) {
	g := open(t)
	body := `{"turns":[{"role":"user","text":"","caption":"a red canoe"}]}`
	g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k").expect(t, 202, nil)
	if e := events(t, g.out.msgs); len(e) != 1 || e[0].Turn.Text != "a red canoe" || e[0].Turn.Caption != "" {
		t.Errorf("published %+v", e)
	}
}

// A turn with an unreadable content, or with two contents, is left out alone.
func TestAnUnreadableTurnRefusesNoOtherTurn(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[
		{"role":"user","text":"I keep bees."},{"role":"user","content":[{"type":"text","text":7}]},{"role":"user","content":"a","text":"b"},
		{"role":"assistant","refusal":7},{"role":"user","content":{"type":"text","text":"I moved to Faro."}},
		{"role":"user","content":[{"type":"text","text":"I moved to Faro."}]}]}`, "Idempotency-Key: k")
	a.expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.1.status": "left_out", "results.1.problem.field": "turns[1].content[0].text",
		"results.2.status": "left_out", "results.2.problem.field": "turns[2].content",
		"results.3.problem.field": "turns[3].refusal",
		"results.4.problem.field": "turns[4].content", "results.5.status": "accepted",
	})
	if e := events(t, g.out.msgs); len(e) != 2 || e[0].Turn.Text != "I keep bees." ||
		e[1].Turn.Text != "I moved to Faro." {
		t.Errorf("published %+v", e)
	}
}

func TestAMessageWithoutAStatementRefusesNoOtherMessage(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[
		{"role":"assistant","content":null,"refusal":"I cannot help.","audio":null},{"role":"assistant","content":null,"audio":{"id":"a"}},
		{"role":"tool","content":{"temp":21e999}},{"role":"system","content":[{"text":"Be brief."}]},
		{"role":"assistant","content":" ","function_call":{"name":"f","arguments":"{}"}},{"role":"user","function_call":{"name":"f"}},
		{"role":"user","content":[{"type":"text","text":"See."},{"type":"image_url","text":"`+strings.Repeat("é", 2450)+`"}]}]}`, "Idempotency-Key: k")
	a.expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.1.status": "left_out", "results.1.problem.field": "turns[1].text",
		"results.2.status": "not_remembered", "results.3.status": "not_remembered",
		"results.4.reason": "calls and results of tools are not remembered", "results.5.status": "left_out",
		"results.6.status": "accepted",
	})
	e := events(t, g.out.msgs)
	if len(e) != 2 || e[0].Turn.Text != "I cannot help." || e[1].Turn.Text != "See." ||
		e[1].Turn.Caption != strings.Repeat("é", 2048) {
		t.Errorf("published %+v", e)
	}
	g.call(http.MethodPost, session+"/turns", `{"turns":[{"role":"system","content":"x"},{"role":"user","text":" "}]}`,
		"Idempotency-Key: none").
		expect(t, 400, map[string]any{"code": "invalid", "errors.0.field": "turns[1].text", "errors.1": nil})
	if len(g.out.msgs) != 2 {
		t.Errorf("published %d events", len(g.out.msgs))
	}
}

func TestABusErrorThatNoRetryMendsIsOurs(t *testing.T) {
	g := open(t)
	g.out.err = errors.New("a bug at 10.0.0.1")
	a := g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1")
	a.expect(t, 500, map[string]any{"code": "internal"})
	if strings.Contains(a.text, "10.0.0.1") {
		t.Errorf("%s", a.text)
	}
}

func TestASessionOfWhichNothingCanBeToldIsClosed(t *testing.T) {
	g := open(t)
	g.behind.fail = connect.NewError(connect.CodeUnavailable, errors.New("the bank is away"))
	g.call(http.MethodPost, ines+"/sessions/"+waits+"/close", "").expect(t, 202, nil)
	g.redis.Close()
	g.behind.fail = nil
	g.call(http.MethodPost, ines+"/sessions/"+waits+"/close", "").expect(t, 202, nil)
}

func TestATimeOutOfRangeIsToldTheRange(t *testing.T) {
	g := open(t)
	for _, at := range []string{"0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"} {
		body := `{"turns":[{"role":"user","text":"a","time":"` + at + `"}]}`
		a := g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k")
		a.expect(t, 400, map[string]any{"code": "invalid", "errors.0.field": "turns[0].time"})
		if !strings.Contains(a.text, "want between 1970-01-01 and one day from now") {
			t.Errorf("%s: %s", at, a.text)
		}
	}
}

func TestWhatWaitsIsToldFromWhatNeverWas(t *testing.T) {
	g := open(t)
	path, erasure := ines+"/sessions/"+waits, self+"/users/"+waits+"/erasures/"+waits
	for _, p := range []string{path, erasure} {
		if a := g.call(http.MethodGet, p, ""); a.status != http.StatusNotFound {
			t.Errorf("%s: nobody put anything in: %d %s", p, a.status, a.text)
		}
	}
	g.call(http.MethodPost, path+"/close", "").expect(t, 404, map[string]any{"code": "not_found"})
	if len(g.out.msgs) > 0 {
		t.Errorf("closing what never was published %d events", len(g.out.msgs))
	}
	g.call(http.MethodGet, path, "").expect(t, 404, nil)
	g.call(http.MethodPost, path+"/turns", oneTurn, "Idempotency-Key: k1").expect(t, 202, nil)
	g.call(http.MethodPost, path+"/close", "").expect(t, 202, nil)
	g.call(http.MethodDelete, self+"/users/"+waits, "")
	for _, p := range []string{path, erasure} {
		if a := g.call(http.MethodGet, p, ""); a.status != http.StatusOK || a.field("state") != "pending" {
			t.Errorf("%s: accepted: %d %s", p, a.status, a.text)
		}
	}
	if a := g.call(http.MethodGet, self+"/users/ben/sessions/"+waits, ""); a.status != http.StatusNotFound {
		t.Errorf("another user's: %d %s", a.status, a.text)
	}
}
