package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

// childArgs names the variable with arguments in JSON. With it, the test binary acts as the command.
const childArgs = "TEST_CLI_ARGS"

// restCall is a call of the gateway's own API.
type restCall struct {
	path, idempotencyKey string
	body                 map[string]any
}

// fakeGateway forwards RPCs to a fake and accepts turns over REST.
type fakeGateway struct {
	rpc http.Handler
	// answer is the status of the REST API's answers; 0 means 202.
	answer int

	mu    sync.Mutex
	calls []restCall
}

func newGateway(t *testing.T, answer int) (*fakeGateway, string) {
	t.Helper()
	mux, f := http.NewServeMux(), fake{}
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(f))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(f))
	g := &fakeGateway{rpc: mux, answer: answer}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	return g, srv.URL
}

func (g *fakeGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+key {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":"unauthenticated","message":"the API key is not known"}`))
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		g.rpc.ServeHTTP(w, r)
		return
	}
	call := restCall{path: r.URL.EscapedPath(), idempotencyKey: r.Header.Get("Idempotency-Key")}
	if err := json.NewDecoder(r.Body).Decode(&call.body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, call)
	if g.answer == http.StatusMultiStatus {
		w.WriteHeader(g.answer)
		_, _ = w.Write([]byte(`{"results":[{"turn_id":"t0","status":"accepted","status_url":"/x"},{"turn_id":"t1","status":"left_out",` +
			`"problem":{"code":"invalid","field":"turns[1].text","detail":"is empty, want 1 to 524288 bytes"}}]}`))
		return
	}
	if g.answer != 0 {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(g.answer)
		_, _ = w.Write([]byte(`{"title":"x","status":429,"code":"rate_limited","detail":"over the limit of turns per minute"}`))
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write([]byte(`{"turns":[]}`))
}

// taken returns the calls of the REST API so far.
func (g *fakeGateway) taken() []restCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// start runs `mneme mcp` as a separate process, as clients do, and connects to it.
func start(t *testing.T, env []string, args ...string) *sdk.ClientSession {
	t.Helper()
	given, err := json.Marshal(append([]string{"mcp"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMCPOverStandardInputAndOutput$")
	cmd.Env = append(os.Environ(), append(env, childArgs+"="+string(given))...)
	cmd.Stderr = os.Stderr
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("the command ends with %v", err)
		}
	})
	return s
}

func callTool(t *testing.T, s *sdk.ClientSession, name string, args map[string]any) (text string, isError bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*sdk.TextContent).Text, res.IsError
}

func TestMCPOverStandardInputAndOutput(t *testing.T) {
	if given := os.Getenv(childArgs); given != "" {
		var args []string
		if err := json.Unmarshal([]byte(given), &args); err != nil {
			t.Fatal(err)
		}
		os.Exit(cli.Execute(context.Background(), args, os.Stdout, os.Stderr))
	}
	g, addr := newGateway(t, 0)
	s := start(t, []string{"MNEME_URL=" + addr + "/", "MNEME_API_KEY=" + key}, "--user", "..")
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 13 {
		t.Fatalf("%+v, %v", tools, err)
	}
	text, isError := callTool(t, s, "recall", map[string]any{"query": "home"})
	if isError || !strings.Contains(text, "recall_id: r1") {
		t.Errorf("recall: %t %q", isError, text)
	}
	if text, isError = callTool(t, s, "get_memory", map[string]any{"memory_id": memID}); isError {
		t.Errorf("get_memory: %t %q", isError, text)
	}
	if res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "mneme://users/ana%2Fb/core"}); err != nil {
		t.Errorf("%+v, %v", res, err)
	}
	text, isError = callTool(t, s, "add_memory", map[string]any{"text": "I live in Porto."})
	if isError || !strings.Contains(text, "formed now") {
		t.Errorf("add_memory: %t %q", isError, text)
	}
	text, isError = callTool(t, s, "add_memory", map[string]any{
		"text": "x", "user_id": "a/b c", "run_id": "a/.", "metadata": map[string]any{"project": "x"}, "agent_id": "baker",
		"app_id": "shop",
	})
	if isError {
		t.Errorf("add_memory: %q", text)
	}
	checkRESTCalls(t, g.taken())
}

func checkRESTCalls(t *testing.T, calls []restCall) {
	t.Helper()
	if len(calls) != 3 {
		t.Fatalf("%d calls, want turns, close, turns: %+v", len(calls), calls)
	}
	turns, closed, more := calls[0], calls[1], calls[2]
	const up = "/v1/tenants/self/users/%2E%2E/sessions/mcp-"
	turn, _ := turns.body["turns"].([]any)[0].(map[string]any)
	names := []string{}
	for name := range turn {
		names = append(names, name)
	}
	slices.Sort(names)
	if !strings.HasPrefix(turns.path, up) || !strings.HasSuffix(turns.path, "/turns") || turns.idempotencyKey == "" ||
		turn["text"] != "I live in Porto." || turn["role"] != "user" ||
		!slices.Equal(names, []string{"id", "role", "speaker", "text", "time"}) {
		t.Errorf("turns: %+v", turns)
	}
	if closed.path != strings.TrimSuffix(turns.path, "turns")+"close" || closed.body["last_turn_id"] != turn["id"] {
		t.Errorf("close: %+v", closed)
	}
	if more.path != "/v1/tenants/self/users/a%2Fb%20c/sessions/a%2F./turns" ||
		more.idempotencyKey == turns.idempotencyKey {
		t.Errorf("turns: %+v", more)
	}
	sent, _ := more.body["turns"].([]any)[0].(map[string]any)
	for field, want := range map[string]any{
		"metadata": map[string]any{"project": "x"}, "agent_id": "baker", "app_id": "shop", "run_id": "a/.",
	} {
		if !reflect.DeepEqual(sent[field], want) {
			t.Errorf("the gateway receives %s %v, want %v", field, sent[field], want)
		}
	}
}

// converse runs `mneme mcp` as a separate process with lines as its whole input. It returns the answers by id.
func converse(t *testing.T, env []string, lines ...string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMCPOverStandardInputAndOutput$")
	cmd.Env = append(os.Environ(), append(env, childArgs+`=["mcp","--user","ana"]`)...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(lines, "\n")), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the command ends with %v", err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(string(out)) {
		var m struct{ ID any }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		answers[fmt.Sprint(m.ID)] += line
	}
	return answers
}

func TestLinesThatAreNoMessageAreAnsweredAndCallsBeforeTheEndOfTheInputToo(t *testing.T) {
	_, addr := newGateway(t, 0)
	call := func(id, tool, args string) string {
		return `{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"` + tool + `","arguments":` +
			args + `}}`
	}
	got := converse(t, []string{"MNEME_URL=" + addr, "MNEME_API_KEY=" + key},
		`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", "{bad", "[1]", strings.Repeat("x", 9<<20),
		call("r", "recall", `{"query":"home"}`), call("g", "get_memory", `{"memory_id":"`+memID+`"}`),
		call("a", "add_memory", `{"text":"x"}`),
		`{"jsonrpc":"2.0","id":"u","method":"tools/burn","params":{}}`)
	for id, want := range map[string]string{
		"i": "protocolVersion", "r": "recall_id: r1", "g": memID, "a": "formed now", "u": `"code":-32601`,
		"<nil>": `"code":-32700`,
	} {
		if !strings.Contains(got[id], want) {
			t.Errorf("%s: %.300q, want %q", id, got[id], want)
		}
	}
	if n := strings.Count(got["<nil>"], `"id":null`); n != 3 || strings.Count(got["<nil>"], `"code":-32600`) != 2 {
		t.Errorf("three lines are no messages: %q", got["<nil>"])
	}
}

func TestErrorsOfTheGatewayAreToldByTheTool(t *testing.T) {
	_, addr := newGateway(t, http.StatusTooManyRequests)
	s := start(t, []string{"MNEME_URL=" + addr, "MNEME_API_KEY=" + key}, "--user", "ana")
	text, isError := callTool(t, s, "add_memory", map[string]any{"text": "x"})
	if !isError || text != "over the limit of turns per minute; try again in 1 s" {
		t.Errorf("%t %q", isError, text)
	}
	wrong := start(t, []string{"MNEME_URL=" + addr, "MNEME_API_KEY=other"}, "--user", "ana")
	for _, tool := range []string{"add_memory", "recall"} {
		args := map[string]any{"text": "x"}
		if tool == "recall" {
			args = map[string]any{"query": "x"}
		}
		if text, isError := callTool(t, wrong, tool, args); !isError || strings.Contains(text, "other") {
			t.Errorf("%s: %t %q", tool, isError, text)
		}
	}
	away := start(t, []string{"MNEME_URL=http://127.0.0.1:1", "MNEME_API_KEY=" + key})
	if text, isError := callTool(t, away, "add_memory", map[string]any{"text": "x", "user_id": "ana"}); !isError ||
		!strings.Contains(text, "does not answer") || strings.Contains(text, "ana") {
		t.Errorf("%t %q", isError, text)
	}
	if text, isError := callTool(t, away, "recall", map[string]any{"query": "x"}); !isError ||
		!strings.Contains(text, "user_id: is missing") {
		t.Errorf("%t %q", isError, text)
	}
}

func TestMessagesThatTheGatewayLeavesOutAreNamed(t *testing.T) {
	_, addr := newGateway(t, http.StatusMultiStatus)
	s := start(t, []string{"MNEME_URL=" + addr, "MNEME_API_KEY=" + key}, "--user", "ana")
	text, isError := callTool(t, s, "add_memory", map[string]any{"run_id": "r", "messages": []any{
		map[string]any{"role": "user", "content": "I live in Porto."}, map[string]any{"role": "user", "content": " "},
	}})
	want := `"left_out":[{"detail":"is empty, want 1 to 524288 bytes","field":"messages[1].content","message":1}]`
	if isError || !strings.Contains(text, want) {
		t.Errorf("%t %s", isError, text)
	}
}

func TestTheGatewayIsTheLocalOneUnlessNamed(t *testing.T) {
	g, addr := newGateway(t, 0)
	folder := t.TempDir()
	data, err := json.Marshal(standalone.Connection{Gateway: addr, Utilizer: "http://127.0.0.1:1", Tenant: "local",
		APIKey: key})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "connection.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	none := []string{"MNEME_URL=", "MNEME_API_KEY="}
	s := start(t, none, "--data", folder)
	if text, isError := callTool(t, s, "add_memory", map[string]any{"text": "x", "user_id": "ana"}); isError ||
		len(g.taken()) != 2 {
		t.Errorf("%t %q", isError, text)
	}
	t.Setenv("MNEME_URL", "")
	older := t.TempDir()
	left := []byte(`{"utilizer":"http://127.0.0.1:1","api_key":"x"}`)
	if err := os.WriteFile(filepath.Join(older, "connection.json"), left, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"mcp"}, command.ExitUnreachable, "no address"},
		{[]string{"mcp", "--url", addr}, command.ExitUsage, "--url (or MNEME_URL) needs --key"},
		{[]string{"mcp", "--data", older}, command.ExitFailed, "runs without a gateway"},
		{[]string{"mcp", "--user", strings.Repeat("x", 300)}, command.ExitUsage, "--user"},
		{[]string{"mcp", "now"}, command.ExitUsage, "now"},
	} {
		if code, out, errOut := run(t, c.args...); code != c.code || !strings.Contains(errOut, c.says) || out != "" {
			t.Errorf("%q: exit code %d, %q, want %d, %q", c.args, code, errOut, c.code, c.says)
		}
	}
}
