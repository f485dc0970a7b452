package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/shared/access"
)

func TestWrongArgumentsAreNamed(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	long := strings.Repeat("x", 10<<10)
	many := make([]object, 201)
	for i := range many {
		many[i] = object{"role": "user", "content": "x"}
	}
	for _, c := range []struct {
		tool string
		with object
		want string
	}{
		{"add_memory", object{"text": nil}, "text: is missing, and messages are missing, too"},
		{"add_memory", object{"messages": []object{{"role": "user", "content": "x"}}}, "text: is set together with messages"},
		{"add_memory", object{"text": " "}, "text: is empty"},
		{"add_memory", object{"text": strings.Repeat("x", 513<<10)}, "text: is 525312 bytes long"},
		{"add_memory", object{"text": "a\x00b"}, "text: contains a NUL"},
		{"add_memory", object{"text": 5}, "text: is a JSON number, want a string"},
		{"add_memory", object{"text": nil, "messages": []object{}}, "messages: are 0, want 1 to 200"},
		{"add_memory", object{"text": nil, "messages": many}, "messages: are 201"},
		{"add_memory", object{"text": nil, "messages": "x"}, "messages: is a JSON string, want a list"},
		{"add_memory", object{"text": nil, "messages": []object{{"role": "narrator", "content": "x"}}},
			`messages[0].role: is "narrator"`},
		{"add_memory", object{"text": nil, "messages": []object{{"role": long, "content": "x"}}}, "messages[0].role"},
		{"add_memory", object{"text": nil, "messages": []object{{"role": "user", "content": ""}}},
			"messages[0].content: is empty"},
		{"add_memory", object{"text": nil, "messages": []object{{"role": "user", "content": 1}}},
			"messages[0].content: is a number"},
		{"add_memory", object{"text": nil, "messages": []object{{"role": "user", "content": "x", "name": long}}},
			"messages[0].name: is 10240"},
		{"add_memory", object{"run_id": long}, "run_id: is 10240 bytes long"},
		{"add_memory", object{"user_id": long}, "user_id: is 10240 bytes long"},
		{"add_memory", object{"user_id": nil}, "user_id: is missing"},
		{"add_memory", object{"actor_id": "x"}, "actor_id: is not an argument"},
		{"add_memory", object{"agent_id": long}, "agent_id: is 10240 bytes long"},
		{"add_memory", object{"metadata": []int{1}}, "metadata: is a list, want an object"},
		{"add_memory", object{"metadata": object{"a": long}}, "metadata: has 10248 bytes as JSON, want at most 2048"},
		{"update_memory", object{"metadata": object{"a": json.Number("9007199254740993")}},
			"metadata.a: is a number that a double"},
		{"recall", object{"filter": object{"like": 1}}, "filter.like: is not an operator"},
		{"search_memories", object{"filter": object{"field": "content", "equals": "x"}}, "filter.field: is not a field"},
		{"get_memories", object{"filter": []int{}}, "filter: is a list, want an object"},
		{"add_memory", object{long: "x"}, "...: is not an argument"},
		{"search_memories", object{"query": ""}, "query: is empty"},
		{"search_memories", object{"query": strings.Repeat("x", 5<<10)}, "query: is 5120 bytes long"},
		{"search_memories", object{"limit": 0}, "limit: is 0, want 1 to 100"},
		{"search_memories", object{"limit": -1}, "limit: is -1, want 1 to 100"},
		{"search_memories", object{"limit": 1_000_000}, "limit: is 1000000"},
		{"search_memories", object{"limit": 1e300}, "limit: is a JSON number, want a whole number"},
		{"search_memories", object{"limit": 1.5}, "limit: is a JSON number, want a whole number"},
		{"search_memories", object{"as_of": "yesterday"}, "as_of: is neither a day"},
		{"recall", object{"memories": 101}, "memories: is 101"},
		{"recall", object{"word_budget": 19}, "word_budget: is 19, want 20 to 10000"},
		{"recall", object{"messages": []object{{"role": "narrator", "content": "x"}}}, `messages[0].role: is "narrator"`},
		{"recall", object{"messages": make([]object, 21)}, "messages: are 21, want at most 20"},
		{"answer", object{"query": []int{1}}, "query: is a JSON array, want a string"},
		{"why", object{"expect_text": strings.Repeat("x", 5<<10)}, "expect_text: is 5120"},
		{"why", object{"expect_turn_ids": make([]string, 101)}, "expect_turn_ids: are 101"},
		{"why", object{"expect_turn_ids": []string{"a", ""}}, "expect_turn_ids[1]: is empty"},
		{"why", object{"recall_id": long}, "recall_id: is 10240"},
		{"get_memories", object{"page_size": 1001}, "page_size: is 1001, want 1 to 1000"},
		{"get_memories", object{"statuses": []string{"lost"}}, `statuses[0]: is "lost"`},
		{"get_memories", object{"page_token": long}, "page_token: is 10240"},
		{"get_memory", object{"memory_id": nil}, "memory_id: is empty"},
		{"get_memory_history", object{"memory_id": long}, "memory_id: is 10240"},
		{"update_memory", object{"text": "\t"}, "text: is empty"},
		{"delete_memory", object{"memory_id": true}, "memory_id: is a JSON bool, want a string"},
		{"delete_all_memories", object{"confirm": false}, "confirm: is not true"},
		{"delete_all_memories", object{"confirm": nil}, "confirm: is not true"},
		{"delete_all_memories", object{"confirm": "true"}, "confirm: is a JSON string, want true or false"},
		{"delete_all_memories", object{"user_id": nil}, "user_id: is missing"},
		{"delete_entities", object{"user_id": nil}, "user_id: is missing"},
		{"list_entities", object{"user_id": "ines"}, "user_id: is not an argument"},
	} {
		args := good()[c.tool]
		maps.Copy(args, c.with)
		for name, v := range args {
			if v == nil {
				delete(args, name)
			}
		}
		res := call(t, s, c.tool, args)
		if text := textOf(res); !res.IsError || !strings.Contains(text, c.want) || len(text) > 300 {
			t.Errorf("%s of %.80v: %t %.300q, want %q", c.tool, c.with, res.IsError, text, c.want)
		}
	}
	if n := g.behind.count(); n > 0 || len(g.topic.take()) > 0 {
		t.Errorf("%d wrong calls got through", n)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "forget_everything"}); err == nil {
		t.Error("a tool that does not exist answers")
	}
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "recall", Arguments: []int{1}})
	if err == nil && (!res.IsError || !strings.Contains(textOf(res), "arguments")) {
		t.Errorf("a list of arguments: %v", res)
	}
}

// TestScopesAreCheckedBeforeArguments calls each tool with a key that may only read. A refusal names the scope, and
// nothing of the wrong arguments.
func TestScopesAreCheckedBeforeArguments(t *testing.T) {
	g := open(t)
	s := g.session(t, keyToRead)
	for tool, scopes := range mcp.Scopes() {
		if len(scopes) == 0 || scopes[0] == access.Read || good()[tool] == nil {
			continue
		}
		res := call(t, s, tool, object{"wrong": 1})
		if text := textOf(res); !res.IsError || !strings.Contains(text, "lacks the scope "+string(scopes[0])) ||
			strings.Contains(text, "wrong") {
			t.Errorf("%s: %t %q", tool, res.IsError, text)
		}
	}
	_, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "with_memory",
		Arguments: map[string]string{"wrong": "1"}})
	if err == nil || !strings.Contains(err.Error(), "lacks the scope recall") {
		t.Errorf("the prompt: %v", err)
	}
	if res := call(t, s, "get_memory", object{"wrong": 1}); !strings.Contains(textOf(res), "wrong: is not an argument") {
		t.Errorf("a tool of the scope: %q", textOf(res))
	}
}

func TestIDsOfAnyKindReachTheServiceAsTheyAre(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	for _, user := range []string{
		"a/b", "..", "../ben", "a%2Fb", "%", "ünï ✓", "<script>", "a?b#c", "mneme://users/ben/core", "ines@example.com",
		"a+b c&d=e",
		strings.Repeat("x", 256),
	} {
		call(t, s, "recall", object{"user_id": user, "query": "q"})
		req, ok := lastUser(g)
		if !ok || req != user {
			t.Errorf("%q is asked for as %q", user, req)
		}
		for _, suffix := range []string{"/profile", "/core"} {
			if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "mneme://users/" + url.PathEscape(user) +
				suffix}); err != nil {
				t.Errorf("%q: %v", user, err)
			}
			if req, ok = lastUser(g); !ok || req != user {
				t.Errorf("%q is read as %q", user, req)
			}
		}
	}
}

// lastUser is the user of the request that came last.
func lastUser(g *gateway) (string, bool) {
	g.behind.mu.Lock()
	defer g.behind.mu.Unlock()
	if len(g.behind.asked) == 0 {
		return "", false
	}
	return userOf(g.behind.asked[len(g.behind.asked)-1])
}

func userOf(msg any) (string, bool) {
	switch m := msg.(type) {
	case interface{ GetUserId() string }:
		return m.GetUserId(), true
	case interface {
		GetRecall() *mnemev1.RecallRequest
	}:
		return m.GetRecall().GetUserId(), true
	}
	return "", false
}

// others are ways to name another user than ben with ben's key.
func others(r *rand.Rand) string {
	names := []string{
		"ines", "Ben", "ben ", " ben", "ben/", "ben/../ines", "../ines", "%62en", "ben%00", "*", "acme/ben", "ben\u200b",
		"b\u0065\u0301n",
		"beta/ines",
	}
	name := names[r.IntN(len(names))]
	if r.IntN(2) == 0 {
		name += fmt.Sprintf("-%d", r.IntN(1000))
	}
	return name
}

func TestAKeyForOneUserReachesNoOther(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfBen)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		for name, args := range good() {
			if name == "list_entities" {
				continue
			}
			args["user_id"] = others(r)
			res := call(t, s, name, args)
			invisible := name == "add_memory" && strings.Contains(textOf(res), "invisible character") // refused before
			if !res.IsError || !invisible && !strings.Contains(textOf(res), "for another user") {
				t.Errorf("%s of %q: %t %q", name, args["user_id"], res.IsError, textOf(res))
			}
		}
		for _, suffix := range []string{"/profile", "/core"} {
			uri := "mneme://users/" + url.PathEscape(others(r)) + suffix
			if res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s: %v", uri, res.Contents)
			}
		}
		if _, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{
			Name: "with_memory", Arguments: map[string]string{"user_id": others(r), "message": "hi"},
		}); err == nil {
			t.Error("the prompt shows another user")
		}
	}
	if n := g.behind.count(); n > 0 || len(g.topic.take()) > 0 {
		t.Errorf("%d calls for others got through", n)
	}
}

func TestAKeyForOneUserNeedNotNameIt(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfBen)
	for name, args := range good() {
		delete(args, "user_id")
		if res := call(t, s, name, args); res.IsError {
			t.Errorf("%s: %s", name, textOf(res))
		}
	}
	for _, msg := range g.behind.asked {
		if user, ok := userOf(msg); ok && user != "ben" {
			t.Errorf("%T of %q", msg, user)
		}
	}
	for _, e := range g.topic.take() {
		if e.Scope.User != "ben" || e.Scope.Tenant != "acme" {
			t.Errorf("published for %v", e.Scope)
		}
	}
}

func TestToolsNeedTheScopesOfTheirKey(t *testing.T) {
	g := open(t)
	s := g.session(t, keyToRead)
	for name, args := range good() {
		if name == "list_entities" {
			continue
		}
		res := call(t, s, name, args)
		reads := strings.HasPrefix(name, "get_") || name == "why"
		if res.IsError == reads || res.IsError && !strings.Contains(textOf(res), "lacks the scope") {
			t.Errorf("%s: %t %q", name, res.IsError, textOf(res))
		}
	}
}
