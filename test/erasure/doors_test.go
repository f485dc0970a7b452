package erasure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/store/decisions"
	"github.com/mneme-memory/mneme/shared/store/records"
)

// caller calls the gateway of a running stack.
type caller struct {
	at   standalone.Connection
	http *http.Client
	out  bus.Publisher
}

// call sends one request and returns the answer's JSON object. Every status below 300 is a success.
func (c *caller) call(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	answer, status := c.try(t, method, path, body)
	if status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: status %d, %v", method, path, status, answer)
	}
	return answer
}

func (c *caller) try(t *testing.T, method, path string, body any) (map[string]any, int) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.at.Gateway+path, sent)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.at.APIKey)
	req.Header.Set("Idempotency-Key", uuid.NewString())
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	if len(raw) > 0 && json.Unmarshal(raw, &answer) != nil {
		answer["text"] = string(raw)
	}
	return answer, res.StatusCode
}

// rest returns a user's path in the REST API.
func rest(user, path string) string { return "/v1/tenants/self/users/" + user + path }

// tool calls a tool of the MCP server.
func (c *caller) tool(t *testing.T, name string, arguments map[string]any) map[string]any {
	t.Helper()
	answer := c.call(t, http.MethodPost, "/mcp", map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments},
	})
	result, ok := answer["result"].(map[string]any)
	if failed, _ := result["isError"].(bool); !ok || failed {
		t.Fatalf("tool %s: %v", name, answer)
	}
	structured, _ := result["structuredContent"].(map[string]any)
	return structured
}

// said is a request that adds one turn.
func said(text string) map[string]any {
	return map[string]any{"turns": []any{map[string]any{"role": "user", "text": text}}}
}

// fill adds data of a user through every interface. Each text contains the word.
func (c *caller) fill(t *testing.T, user, word string) {
	t.Helper()
	c.call(t, http.MethodPost, rest(user, "/sessions/s1/turns"), said("I live in "+word+" and I am allergic to peanuts."))
	c.call(t, http.MethodPost, rest(user, "/memories"), map[string]any{"content": "My dentist works in " + word + "."})
	c.call(t, http.MethodPost, "/v3/memories/add/", map[string]any{
		"user_id": user, "run_id": "trip", "metadata": map[string]any{"place": word},
		"messages": []any{map[string]any{"role": "user", "content": "My sister has moved to " + word + "."}},
	})
	c.call(t, http.MethodPost, "/v1/exports/", map[string]any{
		"filters": map[string]any{"user_id": user}, "schema": map[string]any{"place": word},
	})
	c.tool(t, "add_memory", map[string]any{"user_id": user, "text": "I work as a baker in " + word + "."})
	c.fillItems(t, user, word)
	c.fillModels(t, user, word)
	c.publish(t, user, "\xff\xfe a record that nobody can read, from "+word)
	c.call(t, http.MethodPost, rest(user, "/sessions/s1/close"), nil)
}

// fillItems adds verbatim items.
func (c *caller) fillItems(t *testing.T, user, word string) {
	t.Helper()
	c.call(t, http.MethodPost, rest(user, "/items/batch"), map[string]any{"operations": []any{map[string]any{
		"op": "put", "namespace": []string{"notes"}, "key": word, "value": map[string]any{"text": "a note about " + word},
	}}})
	item := map[string]any{"items": []any{map[string]any{"role": "user", "content": word},
		map[string]any{"content": word}}}
	c.call(t, http.MethodPost, rest(user, "/sessions/s1/items"), item)
	c.call(t, http.MethodPost, rest(user, "/sessions/s1/items/pop"), nil)
}

// decided is a filter that keeps every turn, in the place of a model.
type decided struct{}

// Filter implements formation.Filter.
func (decided) Filter(_ context.Context, _ memory.Scope, turns, _ []memory.Turn) ([]memory.SaliencyDecision, error) {
	return slices.Repeat([]memory.SaliencyDecision{{Salient: true, PolicyVersion: "test"}}, len(turns)), nil
}

// fillModels keeps what services with a model keep: the stack has none.
func (c *caller) fillModels(t *testing.T, user, word string) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: c.at.Redis[0]})
	defer client.Close()
	calls, err := records.New(client, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scope := memory.Scope{Tenant: c.at.Tenant, User: user}
	calls.Keep(t.Context(), llm.Record{
		Scope: scope, At: time.Now(), Role: llm.RoleFilter,
		Messages: []llm.Message{{Role: "user", Content: "Is " + word + " salient?"}},
	})
	calls.Fared(t.Context(), scope, "recall-1", []string{"memory-1"}, nil, false)
	calls.Flush(t.Context())
	turn := memory.Turn{ID: "told-to-a-model", SessionID: "s1", Role: memory.RoleUser, Text: "I like " + word + "."}
	_, err = decisions.New(client, decisions.Options{}).Of(decided{}).Filter(t.Context(), scope, []memory.Turn{turn}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// use reads a user's memory by every door that keeps something of a read.
func (c *caller) use(t *testing.T, user, word string) {
	t.Helper()
	await(t, "memories of "+user+" are formed", func(context.Context) bool {
		listed := c.call(t, http.MethodGet, rest(user, "/memories"), nil)
		list, _ := listed["memories"].([]any)
		return len(list) >= 3
	})
	answer := c.call(t, http.MethodPost, rest(user, "/answer"), map[string]any{"query": "Where does the user live?"})
	recall, _ := answer["recall"].(map[string]any)
	var shown []any
	cited, _ := recall["cited"].([]any)
	for _, one := range cited {
		entry, _ := one.(map[string]any)
		memory, _ := entry["memory"].(map[string]any)
		shown = append(shown, memory["id"])
	}
	if len(shown) == 0 {
		t.Fatalf("the answer cites nothing: %v", answer)
	}
	c.call(t, http.MethodPost, rest(user, "/citations"), map[string]any{
		"recall_id": recall["recall_id"], "shown_ids": shown, "cited_ids": shown[:1],
	})
	c.call(t, http.MethodPost, rest(user, "/why"), map[string]any{"query": "Where?", "expect_text": word})
	c.call(t, http.MethodPost, "/v3/memories/search/",
		map[string]any{"query": "sister", "filters": map[string]any{"user_id": user}})
	c.tool(t, "search_memories", map[string]any{"user_id": user, "query": "baker"})
}

// publish publishes raw bytes on the topic of session events.
func (c *caller) publish(t *testing.T, user, value string) {
	t.Helper()
	key := standalone.LocalTenant + "/" + user
	err := c.out.Publish(t.Context(), bus.Message{Topic: contract.TopicSessionEvents, Key: []byte(key),
		Value: []byte(value)})
	if err != nil {
		t.Fatal(err)
	}
}

// await polls until the condition holds.
func await(t *testing.T, what string, holds func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !holds(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, ctx.Err())
		case <-tick.C:
		}
	}
}
