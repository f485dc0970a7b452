package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	g := open(t)
	create := func(body, key string, headers ...string) answer {
		return g.call(http.MethodPost, self+"/keys", body, append(headers, "Idempotency-Key: "+key)...)
	}
	const wanted = `{"name":"browser of Ines","user":"ines","scopes":["recall","read"],"expires_at":"2026-02-01T00:00:00Z"}`
	a := create(wanted, "k1")
	a.expect(t, 201, map[string]any{
		"key.name": "browser of Ines", "key.user": "ines", "key.scopes": []string{"recall", "read"}, "key.created_at": now,
		"key.expires_at": "2026-02-01T00:00:00Z", "key.last_used_at": nil,
	})
	id, _ := a.field("key.id").(string)
	text, _ := a.field("api_key").(string)
	if !strings.HasPrefix(text, "mneme_"+id+"_") {
		t.Errorf("the key is %s", a.text)
	}
	repeated := func() {
		t.Helper()
		b := create(wanted, "k1")
		b.expect(t, 201, map[string]any{"key.id": id, "key.created_at": now, "api_key": nil})
		if strings.Contains(b.text, text) || b.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("again: %s", b.text)
		}
	}
	repeated()
	if dump := g.redis.Dump(); strings.Contains(dump, text) || strings.Contains(g.log.String(), text) {
		t.Error("the key is in Redis, or in the log")
	}
	list := g.call(http.MethodGet, self+"/keys", "")
	list.expect(t, 200, map[string]any{"keys.0.id": id, "keys.1": nil})
	if strings.Contains(list.text, text) {
		t.Errorf("the list shows the key: %s", list.text)
	}
	g.call(http.MethodGet, self+"/keys", "", "Authorization: Bearer BETA").expect(t, 200, map[string]any{"keys": []any{}})
	g.call(http.MethodDelete, self+"/keys/"+id, "", "Authorization: Bearer BETA").expect(t, 404, nil)
	if d := g.call(http.MethodDelete, self+"/keys/"+id, ""); d.status != 204 || d.text != "" {
		t.Errorf("revoked: %d %q", d.status, d.text)
	}
	g.call(http.MethodDelete, self+"/keys/"+id, "").expect(t, 404, nil)
	repeated()
	create(`{}`, "k2").expect(t, 201, map[string]any{"key.scopes": []string{"ingest", "recall", "read", "erase"}})
	for body, field := range map[string]string{
		`{"scopes":[]}`: "scopes", `{"scopes":["root"]}`: "scopes[0]", `{"scopes":["read","read"]}`: "scopes",
		`{"name":""}`: "name",
		`{"user":"` + strings.Repeat("u", 257) + `"}`: "user", `{"user":"ines","scopes":["admin"]}`: "scopes",
		`{"expires_at":"2026-01-01T00:00:00Z"}`: "expires_at", `{"tenant":"beta"}`: "tenant",
	} {
		create(body, "k3").expect(t, 400, map[string]any{"errors.0.field": field, "errors.0.location": "body"})
	}
	g.call(http.MethodPost, self+"/keys", `{}`).expect(t, 400, map[string]any{"errors.0.field": "Idempotency-Key"})
}

func TestDeadLetters(t *testing.T) {
	g := open(t)
	g.letters.all = letterList(3)
	page := g.call(http.MethodGet, self+"/dead-letters?limit=2", "")
	page.expect(t, 200, map[string]any{
		"dead_letters.0.id": "letter/a", "dead_letters.1.reason": "text: is empty", "dead_letters.1.field": "turn.text",
		"dead_letters.1.user": "ines", "dead_letters.1.turn_id": "t1", "dead_letters.1.time": now, "dead_letters.2": nil,
	})
	next, _ := page.field("next_cursor").(string)
	list := func(query string) answer { return g.call(http.MethodGet, self+"/dead-letters?"+query, "") }
	list("cursor="+next).expect(t, 200, map[string]any{"dead_letters.0.id": "letter/c", "next_cursor": nil})
	list("cursor=eA").expect(t, 400, map[string]any{"errors.0.field": "cursor", "errors.0.location": "query"})
	list("limit=201").expect(t, 400, map[string]any{"errors.0.field": "limit"})
	g.call(http.MethodPost, self+"/dead-letters/letter%2Fb/replay", "").expect(t, 202, map[string]any{"id": "letter/b"})
	g.call(http.MethodPost, self+"/dead-letters/nobody/replay", "").expect(t, 404, nil)
	if len(g.letters.replayed) != 1 || g.letters.replayed[0] != "letter/b" {
		t.Errorf("replayed %v", g.letters.replayed)
	}
}

func TestUsage(t *testing.T) {
	g := open(t)
	g.call(http.MethodGet, self+"/usage", "").expect(t, 200, map[string]any{"day": "2026-01-02", "counts.turns": 3})
	g.call(http.MethodGet, self+"/usage?day=2025-12-31", "").expect(t, 200,
		map[string]any{"day": "2025-12-31", "counts.requests": 10})
	for _, day := range []string{"", "today", "2025-13-01", "2025-1-1", "2025-12-31T00:00:00Z"} {
		g.call(http.MethodGet, self+"/usage?day="+day, "").expect(t, 400, map[string]any{"errors.0.field": "day"})
	}
}
