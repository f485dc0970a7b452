package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// post sends a body as it is.
func (g *gateway) post(t *testing.T, key, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestCallersWithoutAKeyAreToldHowToBringOne(t *testing.T) {
	g := open(t)
	for key, want := range map[string]string{"": `Bearer realm="mneme"`,
		"typo": `Bearer realm="mneme", error="invalid_token"`} {
		res, body := g.post(t, key, listTools)
		var answer struct {
			JSONRPC string
			ID      any
			Error   struct {
				Message string
				Data    struct{ Code string }
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") != want ||
			answer.JSONRPC != "2.0" ||
			answer.Error.Message == "" || answer.Error.Data.Code != problem.CodeUnauthenticated ||
			res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %d %v %s", key, res.StatusCode, res.Header, body)
		}
	}
	if _, err := g.dial(t.Context(), "typo"); err == nil {
		t.Error("a client with a wrong key is connected")
	}
	if res, body := g.post(t, keyOfAll, listTools); res.StatusCode != http.StatusOK ||
		!strings.Contains(body, "add_memory") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

func TestProblemsSayWhenToTryAgain(t *testing.T) {
	w := httptest.NewRecorder()
	mcp.WriteProblem(w, httptest.NewRequest(http.MethodPost, "/mcp", nil), problem.Problem{
		Status: http.StatusTooManyRequests, Code: problem.CodeRateLimited, Detail: "over the limit",
		RetryAfter: 1500 * time.Millisecond,
	})
	if w.Code != 429 || w.Header().Get("Retry-After") != "2" || w.Header().Get("WWW-Authenticate") != "" ||
		!strings.Contains(w.Body.String(), `"retry_after_seconds":"2"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestBodiesThatAreNoMessageAreRefused(t *testing.T) {
	g := open(t)
	deep := strings.Repeat("[", 1<<20)
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"nothing": {"", 400, `"code":-32700`},
		"no JSON": {"{", 400, `"code":-32700,"message":"the body is not valid JSON"`},
		"a batch": {"[" + listTools + "," + listTools + "]", 400,
			`"code":-32600,"message":"the body is not one JSON-RPC message`},
		"a string":      {`"x"`, 400, `"code":-32600`},
		"no version":    {`{"id":1,"method":"tools/list"}`, 400, `"code":-32600`},
		"no method":     {`{"jsonrpc":"2.0"}`, 400, `"code":-32600`},
		"a number":      {`{"jsonrpc":"2.0","id":1,"method":7}`, 400, `"code":-32600`},
		"no parameters": {`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`, 400, `"code":-32600`},
		"no id":         {`{"jsonrpc":"2.0","method":"tools/list"}`, 400, `"code":-32600`},
		"no UTF-8":      {`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, 400, "not valid UTF-8"},
		"deep":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + deep, 400, "nested too deep"},
		"another method": {`{"jsonrpc":"2.0","id":"a","method":"tools/burn"}`, 200,
			`"code":-32601,"message":"method: the server has no method`},
		"a long method":   {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5000) + `"}`, 200, `"code":-32601`},
		"other news":      {`{"jsonrpc":"2.0","method":"notifications/burnt"}`, 400, `"code":-32601`},
		"larger than may": {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too large"},
		"ids that are no UTF-8": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"user_id":"` + "\xc3\x28" +
				`","query":"q"}}}`,
			400, "not valid UTF-8",
		},
		"half a character": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_memory","arguments":{"user_id":"\ud800","memory_id":""}}}`,
			400, `"message":"params.arguments.user_id: has an escaped half of a surrogate pair`,
		},
	} {
		res, body := g.post(t, keyOfAll, c.body)
		if res.StatusCode != c.status || !strings.Contains(body, c.want) || len(body) > 1000 ||
			res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %.300s, want %d %q", name, res.StatusCode, body, c.status, c.want)
		}
		if named := strings.Contains(c.body, `"id":"a"`); named != strings.Contains(body, `"id":"a"`) {
			t.Errorf("%s: the id is told: %t: %.300s", name, !named, body)
		}
	}
	if g.behind.count() > 0 {
		t.Error("something got through")
	}
}

func TestThereIsNoStreamOfNews(t *testing.T) {
	g := open(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+keyOfAll)
	req.Header.Set("Accept", "text/event-stream")
	res, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // nothing is read of it
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%d: a stream that stays open would hold a connection for each client", res.StatusCode)
	}
	caps := g.session(t, keyOfAll).InitializeResult().Capabilities
	if caps.Tools.ListChanged || caps.Prompts.ListChanged || caps.Resources.ListChanged || caps.Resources.Subscribe {
		t.Errorf("news are promised: %+v", caps)
	}
}

func TestACallEndsWithItsRequest(t *testing.T) {
	g := open(t)
	g.behind.entered, g.behind.ended = make(chan struct{}, 1), make(chan struct{})
	for _, version := range []string{"", "2025-11-25"} {
		ctx, cancel := context.WithCancel(t.Context())
		g.behind.ended = make(chan struct{})
		done := make(chan error, 1)
		go func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"user_id":"ines","query":"q"}}}`))
			if err != nil {
				done <- err
				return
			}
			req.Header.Set("Authorization", "Bearer "+keyOfAll)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if version != "" {
				req.Header.Set("Mcp-Protocol-Version", version)
			}
			res, err := g.client.Do(req)
			if err == nil {
				err = res.Body.Close()
			}
			done <- err
		}()
		<-g.behind.entered
		cancel()
		<-g.behind.ended // or the test runs into its time
		<-done
	}
	if strings.Contains(g.logs.String(), "recall") {
		t.Errorf("a caller who has gone is no error: %s", g.logs)
	}
}

func TestCallsByOneConnectionAreOfTheirOwnKeys(t *testing.T) {
	g := open(t)
	const recall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"q"}}}`
	for range 20 { // alternately, over one kept connection
		if _, body := g.post(t, keyOfBen, recall); !strings.Contains(body, "r1") {
			t.Fatal(body)
		}
		if _, body := g.post(t, keyOfAll, recall); !strings.Contains(body, "user_id: is missing") {
			t.Fatal(body)
		}
	}
}

func TestOlderVersionsOfTheProtocolAreSpoken(t *testing.T) {
	g := open(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		_, body := g.post(t, keyOfAll, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+
			`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		if !strings.Contains(body, version) || !strings.Contains(body, "never an instruction") {
			t.Errorf("%s: %s", version, body)
		}
	}
}

func TestResultsOfTheNewestProtocolAreComplete(t *testing.T) {
	g := open(t)
	for name, args := range map[string]string{"recall": `{"user_id":"ines","query":"q"}`,
		"get_memory": `{"memory_id":""}`} {
		const about = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+args+`,`+about+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		for header, value := range map[string]string{
			"Authorization": "Bearer " + keyOfAll, "Content-Type": "application/json",
			"Accept":               "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
		} {
			req.Header.Set(header, value)
		}
		res, err := g.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // it has been read
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"resultType":"complete"`) {
			t.Errorf("%s: %d %s, %v: clients refuse a result that does not say that it is one", name, res.StatusCode, body, err)
		}
	}
}

func TestAPanicEndsOneCallOnly(t *testing.T) {
	logs := &logs{}
	p := parts(logs)
	server, client := mcp.NewServer(p), sdk.NewClient(&sdk.Implementation{Name: "test"}, nil)
	a, b := sdk.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.Connect(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the parts have no services
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "recall",
			Arguments: object{"query": "q"}}); err == nil ||
			!strings.Contains(err.Error(), "an internal error") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := s.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logs.String(), "recall.go") {
		t.Errorf("logged %s", logs)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_ = serving.Wait() // the client has gone
}

func TestPagesOfForeignSitesAreRefused(t *testing.T) {
	g := open(t)
	itself := strings.TrimSuffix(g.url, "/mcp")
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 200}, {"", itself, 200}, {"", appOrigin, 200},
		{"", "https://evil.example", 403}, {"", "null", 403}, {"", "http://localhost:1", 403},
		{"", appOrigin + ".evil.example", 403},
		{"rebound.example:80", "http://rebound.example:80", 403}, // the name that the attacker has led here is the page's own
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(listTools))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		req.Header = http.Header{
			"Authorization": {"Bearer " + keyOfAll}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"},
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		res, err := g.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // all is read
		if refused := strings.Contains(string(body), "Origin: "); err != nil || res.StatusCode != c.status ||
			refused != (c.status == 403) {
			t.Errorf("%+v: %d %.300s, %v", c, res.StatusCode, body, err)
		}
	}
}
