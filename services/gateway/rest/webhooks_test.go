package rest_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestAWebhookFromItsMakingToItsEnd(t *testing.T) {
	g := open(t)
	hooks := self + "/webhooks"
	made := g.call(http.MethodPost, hooks, `{"name":"mine","url":"https://example.com/hook","event_types":["memory.added"]}`, "Idempotency-Key: k")
	made.expect(t, 201, map[string]any{"name": "mine", "active": true, "event_types.0": "memory.added"})
	var w struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(made.text), &w); err != nil || !strings.HasPrefix(w.Secret, "whsec_") {
		t.Fatalf("made %s", made.text)
	}
	one := hooks + "/" + w.ID
	again := g.call(http.MethodPost, hooks, `{"name":"mine","url":"https://example.com/hook","event_types":["memory.added"]}`, "Idempotency-Key: k")
	again.expect(t, 201, map[string]any{"id": w.ID, "name": "mine", "secret": nil})
	g.call(http.MethodGet, hooks, "").expect(t, 200,
		map[string]any{"webhooks.0.id": w.ID, "webhooks.0.secret": nil, "webhooks.1": nil})
	g.call(http.MethodGet, one, "").expect(t, 200, map[string]any{"url": "https://example.com/hook", "secret": nil,
		"pending": 0.0, "consecutive_failures": 0.0, "failing_since": nil})
	g.call(http.MethodPatch, one, `{"active":false,"name":"yours"}`).expect(t, 200,
		map[string]any{"active": false, "name": "yours"})
	rotated := g.call(http.MethodPost, one+"/rotate-secret", "", "Idempotency-Key: k2")
	if rotated.status != 200 || strings.Contains(rotated.text, w.Secret) || !strings.Contains(rotated.text, "whsec_") {
		t.Errorf("rotated: %d %s", rotated.status, rotated.text)
	}
	again = g.call(http.MethodPost, one+"/rotate-secret", "", "Idempotency-Key: k2")
	again.expect(t, 200, map[string]any{"id": w.ID, "secret": nil})
	g.call(http.MethodGet, hooks+"/"+strings.ToUpper(w.ID), "").expect(t, 200, map[string]any{"id": w.ID})
	g.call(http.MethodPatch, one, `{"event_types":[]}`).expect(t, 200, map[string]any{"event_types.0": nil})
	g.call(http.MethodPatch, one, `{"url":"https://localhost"}`).expect(t, 400, map[string]any{"errors.0.field": "url"})
	g.call(http.MethodPatch, one, `{"active":true}`, "Authorization: Bearer ADMIN").expect(t, 403,
		map[string]any{"code": "forbidden"})
	g.call(http.MethodPost, hooks, `{"url":"https://example.com"}`, "Authorization: Bearer ADMIN",
		"Idempotency-Key: k3").expect(t, 403, nil)
	g.call(http.MethodGet, one, "", "Authorization: Bearer ADMIN").expect(t, 200, nil)
	g.call(http.MethodGet, one+"/dead-letters?limit=2", "").expect(t, 200, map[string]any{"dead_letters.0": nil})
	g.call(http.MethodPost, one+"/dead-letters/e/replay", "").expect(t, 404, nil)
	g.call(http.MethodGet, one, "", "Authorization: Bearer BETA").expect(t, 404, nil)
	g.call(http.MethodDelete, one, "").expect(t, 204, nil)
	g.call(http.MethodGet, one, "").expect(t, 404, nil)
}

func TestWebhooksThatAreNone(t *testing.T) {
	g := open(t)
	for body, field := range map[string]string{
		`{}`: "url", `{"url":"http://example.com"}`: "url", `{"url":"https://u:p@example.com"}`: "url",
		`{"url":"https://127.0.0.1/hook"}`:                  "url",
		`{"url":"https://example.com","event_types":["x"]}`: "event_types[0]",
		`{"url":"https://example.com","secret":"x"}`:        "secret",
	} {
		a := g.call(http.MethodPost, self+"/webhooks", body, "Idempotency-Key: of-"+strconv.Itoa(len(body)))
		a.expect(t, 400, map[string]any{"errors.0.field": field, "errors.0.location": "body"})
	}
}
