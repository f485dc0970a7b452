package mem0_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/mem0"
)

func TestWebhooks(t *testing.T) {
	g := open(t)
	const all, one = "/api/v1/webhooks/projects/acme/", "/api/v1/webhooks/hook%201/"
	made := g.do("POST", all, object{"name": "n", "url": "https://example.org/hook",
		"event_types": []string{"memory_add", "memory_delete"}})
	if o := made.object(); made.status != 201 || o["webhook_id"] != "hook 1" || o["project"] != "acme" ||
		o["is_active"] != true {
		t.Errorf("made %s", made.body)
	}
	if got := g.do("GET", all, nil).body; !strings.HasPrefix(got, `[{"webhook_id":"hook 1","name":"n"`) {
		t.Errorf("listed %s", got)
	}
	if got := g.do("PUT", one, object{"name": "m"}).object(); got["name"] != "m" || got["message"] == nil {
		t.Errorf("changed %v", got)
	}
	health := &g.hooks.all[0].Health
	health.LastError, health.FailingSince, health.Failures = "it answers 500", start, 3
	if got := g.do("GET", all, nil).body; !strings.Contains(got, `"last_error":"it answers 500","failing_since":"`) {
		t.Errorf("a failing one: %s", got)
	}
	g.do("DELETE", one, nil)
	g.call("ALL", "DELETE", one, nil).refused(404, "no such webhook")
	g.call("ALL", "PUT", one, object{"name": "x"}).refused(404, "no such webhook")
	for detail, body := range map[string]object{
		"url: is empty":                        {"event_types": []string{"memory_add"}},
		"url: is a number":                     {"url": 5},
		"url: is 2049 bytes long":              {"url": strings.Repeat("x", 2049)},
		"name: is 257 bytes long":              {"name": strings.Repeat("x", 257)},
		"name: is a number":                    {"name": 5},
		"event_types: is missing":              {"url": "https://example.org"},
		"event_types: is text, want a list":    {"url": "https://example.org", "event_types": "memory_add"},
		"event_types: has an event type other": {"url": "https://example.org", "event_types": []string{"x"}},
	} {
		g.call("ALL", "POST", all, body).refused(400, detail)
	}
	g.call("ALL", "POST", all, object{"event_types": []string{"memory_categorize"}}).refused(501, "memory_categorize")
}

func TestWithoutWebhooks(t *testing.T) {
	g := open(t)
	g.url = g.serve(mem0.New(mem0.Parts{State: g.state, Now: g.clock.Now}), nil)
	g.call("ALL", "GET", "/api/v1/webhooks/projects/acme/", nil).refused(501, "webhooks are not served here")
	g.call("ALL", "POST", "/api/v1/webhooks/projects/acme/", object{}).refused(501, "webhooks are not served here")
	g.call("ALL", "PUT", "/api/v1/webhooks/1/", object{}).refused(501, "webhooks are not served here")
	g.call("ALL", "DELETE", "/api/v1/webhooks/1/", nil).refused(501, "webhooks are not served here")
}
