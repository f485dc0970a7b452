package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/stream"
	"github.com/mneme-memory/mneme/shared/access"
)

// described is the description's part about scopes.
type described struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Description string
		Security    []map[string][]access.Scope
		If          []struct {
			If    string
			Scope access.Scope
		} `json:"x-scopes-if"`
	}
	OtherDoors map[string]map[string][]access.Scope `json:"x-scopes"`
}

// needing is a call with the scopes that the description says it needs.
type needing struct {
	trial
	scopes  []access.Scope
	headers http.Header
}

// bodies are bodies of operations for which a sample of their schema says too little.
var bodies = map[string]string{
	"create-key":           `{"scopes":["admin"]}`,
	"create-webhook":       `{"url":"https://example.com"}`,
	"batch-items":          `{"operations":[{"op":"get","namespace":["a"],"key":"k","refresh_ttl":false}]}`,
	"append-session-items": `{"items":[{}]}`,
}

// conditional lists requests that need an additional scope, by operation and scope.
var conditional = map[string][]string{
	"batch-items ingest": {
		`{"operations":[{"op":"put","namespace":["a"],"key":"k","value":{}}]}`,
		`{"operations":[{"op":"get","namespace":["a"],"key":"k","refresh_ttl":true}]}`,
		`{"operations":[{"op":"search","namespace_prefix":[],"refresh_ttl":true}]}`,
	},
	"batch-items erase":   {`{"operations":[{"op":"delete","namespace":["a"],"key":"k"}]}`},
	"update-memory read":  nil,
	"delete-memory read":  nil,
	"release-memory read": nil,
}

// restCalls are the operations of the description, once for each set of scopes.
func (w *world) restCalls(d described) (out []needing) {
	samples := map[string]trial{}
	for _, c := range w.restTrials() {
		samples[c.name] = c
	}
	seen := map[string]bool{}
	for path, operations := range d.Paths {
		for method, o := range operations {
			c, ok := samples["REST "+method+" "+path]
			if !ok { // a stream
				c = trial{name: "REST " + method + " " + path, method: strings.ToUpper(method),
					path: strings.ReplaceAll(path, "{user}", "USER")}
			}
			c.name = o.OperationID
			if body, ok := bodies[o.OperationID]; ok {
				c.body = body
			}
			needs := o.Security[0]["key"]
			if len(needs) == 0 {
				w.t.Errorf("%s: no scope is described", o.OperationID)
			}
			for _, s := range needs {
				if !strings.Contains(o.Description, "`"+string(s)+"`") {
					w.t.Errorf("%s does not name %s in words", o.OperationID, s)
				}
			}
			out = append(out, needing{c, needs, nil})
			for _, also := range o.If {
				name := o.OperationID + " " + string(also.Scope)
				cases, known := conditional[name]
				if !known {
					w.t.Errorf("%s is described, and not tried", name)
				}
				seen[name] = true
				both := append(slices.Clone(needs), also.Scope)
				if cases == nil {
					out = append(out, needing{c, both, http.Header{"If-Match": {`"x"`}}})
				}
				for _, body := range cases {
					of := c
					of.body = body
					out = append(out, needing{of, both, nil})
				}
			}
		}
	}
	if len(seen) != len(conditional) {
		w.t.Errorf("described are %v", slices.Sorted(maps.Keys(seen)))
	}
	return out
}

// mem0Calls returns the calls of mem0's API, by their names in the description.
func (w *world) mem0Calls(table map[string][]access.Scope) (out []needing) {
	memory := mark("acme", "") // as the services answer
	_, added := w.call(http.MethodPost, "/v3/memories/add/", "KEY-of-acme", []byte(`{"messages":"x","user_id":"ben"}`),
		jsonHeaders())
	var event struct {
		ID string `json:"event_id"`
	}
	if err := json.Unmarshal([]byte(added), &event); err != nil || event.ID == "" {
		w.t.Fatalf("add: %s", added)
	}
	fill := strings.NewReplacer("{memory_id}", memory, "{entity_type}", "user", "{entity_id}", "USER", "{event_id}",
		event.ID,
		"{project_id}", "acme", "{org_id}", "acme", "{webhook_id}", "x", "{job_id}", "x")
	samples := map[string][]string{
		"POST /v3/memories/add/": {`{"messages":"x","user_id":"USER"}`,
			`{"messages":"x","user_id":"USER","infer":false}`},
		"POST /v3/memories/search/":     {`{"query":"x","filters":{"user_id":"USER"}}`},
		"POST /v3/memories/":            {`{"filters":{"user_id":"USER"}}`},
		"PUT /v1/memories/{memory_id}/": {`{"text":"x"}`, `{"metadata":{"a":1}}`},
		"PUT /v1/batch/":                {`{"memories":[{"memory_id":"` + memory + `","text":"x"}]}`},
		"DELETE /v1/batch/":             {`{"memories":[{"memory_id":"` + memory + `"}]}`},
		"POST /v1/summary/":             {`{"filters":{"user_id":"USER"}}`},
		"POST /v1/exports/":             {`{"schema":"{}","filters":{"user_id":"USER"}}`},
		"POST /v1/exports/get/":         {`{"user_id":"USER"}`},
		"POST /v1/feedback/":            {`{"memory_id":"` + memory + `","feedback":"POSITIVE"}`},
		"POST /api/v1/webhooks/projects/{project_id}/": {
			`{"name":"x","url":"https://example.com","event_types":["memory_add"]}`,
		},
		"PUT /api/v1/webhooks/{webhook_id}/": {`{"name":"x"}`},
	}
	for name, needs := range table {
		method, path, _ := strings.Cut(name, " ")
		if path == "/v1/memories/" {
			path += "?user_id=USER"
		}
		for _, body := range append(samples[name][:len(samples[name]):len(samples[name])], "")[:max(1, len(samples[name]))] {
			out = append(out, needing{trial{"mem0 " + name, method, fill.Replace(path), body, "application/json"}, needs, nil})
		}
	}
	return out
}

// mcpCalls are the tools, resources and the prompt.
func (w *world) mcpCalls(table map[string][]access.Scope) (out []needing) {
	called := map[string]string{
		"MCP profile": "mneme://users/{id}/profile",
		"MCP core":    "mneme://users/{id}/core",
		"MCP prompt":  "with_memory",
	}
	tried := map[string]bool{}
	for _, c := range w.mcpTrials() {
		name := strings.TrimPrefix(c.name, "MCP ")
		if other := called[c.name]; other != "" {
			name = other
		}
		needs, ok := table[name]
		if !ok {
			w.t.Errorf("MCP %s has no scopes in the description", name)
		}
		tried[name] = true
		switch name {
		case "add_memory":
			c.body = strings.Replace(c.body, `"arguments":{`, `"arguments":{"text":"x",`, 1)
		case "delete_all_memories", "delete_entities":
			c.body = strings.Replace(c.body, `"confirm":false`, `"confirm":true`, 1)
		}
		out = append(out, needing{c, needs, nil})
	}
	for name := range table {
		if !tried[name] {
			w.t.Errorf("MCP has no %s", name)
		}
	}
	return out
}

// rpcCalls are the calls of the contracts.
func (w *world) rpcCalls(table map[string][]access.Scope) (out []needing) {
	for _, c := range rpcTrials() {
		needs, ok := table[c.path]
		if ok {
			out = append(out, needing{c, needs, nil})
		} else if !strings.HasSuffix(c.path, "/Rerank") {
			w.t.Errorf("%s has no scopes in the description", c.path)
		}
	}
	return out
}

// forbidden reports whether a call is refused for missing scopes of its key.
func (w *world) forbidden(c needing, key string) (is bool, answer string) {
	w.t.Helper()
	path, body := c.at("ines", "x")
	headers := jsonHeaders()
	if c.media != "" {
		headers.Set("Content-Type", c.media)
	}
	maps.Copy(headers, c.headers)
	if strings.HasSuffix(c.path, "/events") {
		status := w.status(path, key)
		return status == http.StatusForbidden, fmt.Sprint(status)
	}
	status, answer := w.call(c.method, path, key, body, headers)
	if status >= 500 && status != http.StatusNotImplemented {
		w.t.Errorf("%s: %d %s", c.name, status, answer)
	}
	is = status == http.StatusForbidden || strings.Contains(answer, "lacks the scope") ||
		strings.Contains(answer, `"code":"permission_denied"`)
	return is, fmt.Sprintf("%d %.300s", status, answer)
}

// status returns the status of a stream, and does not read the stream.
func (w *world) status(path, key string) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	cancel()
	_ = res.Body.Close()
	return res.StatusCode
}

// openWorld is a gateway without limits. Its services answer every call.
func openWorld(t *testing.T) *world {
	t.Helper()
	inner := &marking{}
	address, _ := startBefore(t, inner, map[string]string{
		"MNEME_GATEWAY_REQUESTS_PER_SECOND": "0", "MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND": "0",
		"MNEME_GATEWAY_TURNS_PER_MINUTE": "0",
		"MNEME_TENANTS_DIRECTORY":        "true",
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &world{t: t, url: address, inner: inner, http: &http.Client{Transport: transport}}
}

func (w *world) description() (out described) {
	w.t.Helper()
	_, text := w.call(http.MethodGet, "/openapi.json", "", nil, http.Header{})
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// Each operation of every door accepts exactly the keys with the described scopes.
func TestEveryOperationNeedsTheScopesThatTheDescriptionNames(t *testing.T) {
	w := openWorld(t)
	d := w.description()
	whole := kind{name: "whole", key: "KEY-of-acme", tenant: "acme", scopes: allScopes()}
	made := map[string]string{}
	keyOf := func(scopes []access.Scope) string {
		name := fmt.Sprint(scopes)
		if made[name] == "" {
			made[name] = w.create(whole, kind{name: name, scopes: scopes}).key
		}
		return made[name]
	}
	all := slices.Concat(w.restCalls(d), w.mem0Calls(d.OtherDoors["mem0"]), w.mcpCalls(d.OtherDoors["mcp"]),
		w.rpcCalls(d.OtherDoors["rpc"]))
	if len(all) < 120 {
		t.Errorf("%d calls", len(all))
	}
	for _, c := range all {
		for _, s := range allScopes() {
			enough := len(c.scopes) == 0 || len(c.scopes) == 1 && c.scopes[0] == s
			if is, answer := w.forbidden(c, keyOf([]access.Scope{s})); is == enough {
				t.Errorf("%s needs %v, and with %s alone is let through: %t: %s, for %s", c.name, c.scopes, s, !enough, answer,
					c.body)
			}
		}
		if len(c.scopes) > 1 {
			if is, answer := w.forbidden(c, keyOf(c.scopes)); is {
				t.Errorf("%s is refused with %v: %s, for %s", c.name, c.scopes, answer, c.body)
			}
		}
	}
}

// The key that is made for one user unless scopes are named can read and put in, and removes nothing.
func TestTheUsualKeyOfOneUserRemovesNothing(t *testing.T) {
	w := openWorld(t)
	_, text := w.call(http.MethodPost, "/v1/tenants/self/keys", "KEY-of-acme", []byte(`{"user":"ines"}`), jsonHeaders())
	var made struct {
		APIKey string `json:"api_key"`
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	const items = "/v1/tenants/self/users/ines/sessions/s/items"
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPost, items, `{"items":[{"content":"secret three"}]}`, 201},
		{http.MethodPost, items + "/pop", "", 403},
		{http.MethodDelete, items, "", 403},
		{http.MethodPost, "/v1/tenants/self/users/ines/items/batch",
			`{"operations":[{"op":"delete","namespace":["a"],"key":"k"}]}`, 403},
		{http.MethodGet, items, "", 200},
	} {
		status, answer := w.call(c.method, c.path, made.APIKey, []byte(c.body), jsonHeaders())
		if status != c.status || c.status == 200 && !strings.Contains(answer, "secret three") {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, answer)
		}
	}
}

// One constant is the promised time until a revoked key is refused. All parts that notice a revocation keep to it.
func TestARevokedKeyIsRefusedWithinTheTimeThatIsStated(t *testing.T) {
	if worst := keys.MaxAge + stream.DefaultCheck; worst > access.RevokedWithin {
		t.Errorf("an open stream notices after %s, stated are %s", worst, access.RevokedWithin)
	}
	stated := fmt.Sprintf("within %.0f seconds", access.RevokedWithin.Seconds())
	_, text := ask(t, http.MethodGet, start(t)+"/openapi.json", "", "")
	if !strings.Contains(text, "All replicas refuse it "+stated) {
		t.Errorf("the description does not state %s", stated)
	}
	for _, name := range []string{"operations/tenants-and-keys.md", "gateway.md"} {
		page, err := os.Open("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(page)
		if err != nil {
			t.Fatal(err)
		}
		_ = page.Close()
		found := false
		for line := range strings.Lines(string(text)) {
			if strings.Contains(strings.ToLower(line), "revok") && strings.Contains(line, "within") {
				found = true
				if !strings.Contains(line, stated) {
					t.Errorf("%s says of revoked keys: %s", name, line)
				}
			}
		}
		if !found {
			t.Errorf("%s does not say when a revoked key is refused", name)
		}
	}
}
