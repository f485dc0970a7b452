package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "KEY-of-acme"

// behind answers the gateway's recalls with the owner's name.
type behind struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
}

func (behind) Recall(
	_ context.Context, r *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	return connect.NewResponse(&mnemev1.RecallResponse{
		Profile: r.Header().Get("Mneme-Tenant") + "/" + r.Msg.GetUserId() + " by " + r.Header().Get("Authorization"),
	}), nil
}

// start runs the gateway and returns its address.
func start(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(behind{}))
	url, _ := startBefore(t, mux, nil)
	return url
}

// startBefore runs the gateway before services, with two tenants and a separate broker. It returns the gateway's
// address.
func startBefore(t *testing.T, services http.Handler, settings map[string]string) (string, *bustest.Broker) {
	t.Helper()
	inner := httptest.NewServer(services)
	t.Cleanup(inner.Close)
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	tenants := "tenants:\n  - id: acme\n    api_keys: [" + tenant.HashKey(key) + "]\n" +
		"  - id: globex\n    api_keys: [" + tenant.HashKey("KEY-of-globex") + "]\n"
	if err := os.WriteFile(file, []byte(tenants), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	addr, done := make(chan string, 1), make(chan error, 1)
	broker := bustest.StartBroker(t, 2, contract.TopicSessionEvents, contract.TopicMemoryChanges,
		contract.TopicDeadLetters)
	environ := map[string]string{
		"MNEME_HTTP_ADDR": "127.0.0.1:0", "MNEME_UTILIZER_URL": inner.URL, "MNEME_RERANKER_URL": inner.URL,
		"MNEME_TENANTS_FILE":    file,
		"MNEME_INTERNAL_SECRET": "a secret of services", "MNEME_REDIS_ADDRS": miniredis.RunT(t).Addr(),
		"MNEME_KAFKA_REPLICAS": "1",
		"MNEME_KAFKA_BROKERS":  broker.Addr(), "MNEME_KAFKA_PARTITIONS": "2",
	}
	maps.Copy(environ, settings)
	go func() {
		done <- runner.Run(ctx, gateway.Service, runner.Options{
			Environ: environ, Stderr: &bytes.Buffer{}, OnListen: func(a string) { addr <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	url := "http://" + <-addr
	awaitReady(t, url)
	return url, broker
}

func awaitReady(t *testing.T, url string) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		if status, _ := ask(t, http.MethodGet, url+"/readyz", "", ""); status == http.StatusOK {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the gateway does not become ready")
		}
	}
}

// ask makes a request with a key, an empty one meaning none, and returns status and body.
func ask(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Idempotency-Key", "once")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, out.String()
}

func TestCallersAreShownNoMetrics(t *testing.T) {
	url := start(t)
	for path, want := range map[string]int{"/metrics": http.StatusNotFound, "/healthz": http.StatusOK,
		"/readyz": http.StatusOK} {
		if status, body := ask(t, http.MethodGet, url+path, "", ""); status != want ||
			strings.Contains(body, "go_goroutines") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestNothingIsRefusedInPlainText(t *testing.T) {
	url := start(t)
	const problem = "application/problem+json"
	for _, c := range []struct {
		method, path string
		status       int
		media        string
	}{
		{http.MethodGet, "/nope", 404, problem}, {http.MethodGet, "/", 404, problem},
		{http.MethodGet, "/metrics", 404, problem},
		{http.MethodPost, "/healthz", 404, problem}, {http.MethodGet, "/healthz/..", 404, problem},
		{http.MethodPut, "/docs", 405, problem},
		{http.MethodGet, "/v1/tenants/nope", 404, problem}, {http.MethodGet, "/v1/nope", 404, problem},
		{"BREW", "/v1/tenants/self/usage", 405, problem}, {http.MethodPost, "/v1/tenants/self/events", 405, problem},
		{http.MethodGet, "/v2/nope", 404, "application/json"}, {http.MethodPatch, "/v1/memories/", 405, "application/json"},
		{http.MethodGet, "/mcp", 405, "application/json"}, {http.MethodDelete, "/mcp", 405, "application/json"},
		{http.MethodPost, "/" + mnemev1connect.MemoryServiceName + "/Nope", 501, "application/json"},
		{http.MethodGet, "/" + mnemev1connect.MemoryServiceName, 501, "application/json"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != c.status || res.Header.Get("Content-Type") != c.media || !json.Valid(body) ||
			c.status == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, res.StatusCode, res.Header, body)
		}
	}
}

func TestTheDoorsStandBehindTheGuard(t *testing.T) {
	url := start(t)
	recall := url + mnemev1connect.UtilizerServiceRecallProcedure
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	users := url + "/v1/tenants/self/users/"
	turns := `{"turns":[{"id":"t1","role":"user","text":"I live in Porto."}]}`
	for name, c := range map[string]struct {
		url, key, body string
		status         int
		want           string
	}{
		"RPC":                 {recall, key, `{"userId":"ines"}`, 200, "acme/ines by Bearer a secret of services"},
		"RPC without a key":   {recall, "", `{"userId":"ines"}`, 401, "missing"},
		"RPC, an unknown key": {recall, "KEY-typo", `{"userId":"ines"}`, 401, "not known"},
		"MCP":                 {url + "/mcp", key, list, 200, `"recall"`},
		"MCP without a key":   {url + "/mcp", "", list, 401, "missing"},
		"REST":                {users + "ines/sessions/s/turns", key, turns, 202, `"id":"t1"`},
		"REST, dots":          {users + "../recall", key, `{"query":"x"}`, 200, `acme/.. by`},
		"REST without a key":  {users + "ines/sessions/s/turns", "", turns, 401, `"code":"unauthenticated"`},
		"mem0": {url + "/v3/memories/add/", key, `{"messages":"I like tea.","user_id":"ines"}`, 200,
			`"status":"PENDING"`},
		"mem0 without a key": {url + "/v3/memories/add/", "", `{}`, 401, `"detail"`},
		"a stream":           {users + "ines/events", "", "", 401, "missing"},
		"another path":       {url + "/v0", key, "", 404, ""},
	} {
		status, body := ask(t, http.MethodPost, c.url, c.key, c.body)
		if status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "KEY-typo") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if c.status == 200 && !json.Valid([]byte(body)) {
			t.Errorf("%s: %s is no JSON", name, body)
		}
	}
}

func TestItemsOfATenantAreBounded(t *testing.T) {
	url, _ := startBefore(t, http.NotFoundHandler(), map[string]string{"MNEME_GATEWAY_ITEMS": "1"})
	self := url + "/v1/tenants/self"
	put := func(key, user, operation string) (int, string) {
		return ask(t, http.MethodPost, self+"/users/"+user+"/items/batch", key,
			`{"operations":[{"namespace":["a"],"key":"k",`+operation+`}]}`)
	}
	for i, c := range []struct {
		key, user, operation string
		status               int
		want                 string
	}{
		{key, "ines", `"op":"put","value":{}`, 200, ""},
		{key, "ben", `"op":"put","value":{}`, 429, `"code":"over_quota"`},
		{"KEY-of-globex", "ben", `"op":"put","value":{}`, 200, ""},
		{key, "ines", `"op":"delete"`, 200, ""},
		{key, "ben", `"op":"put","value":{}`, 200, ""},
	} {
		if status, body := put(c.key, c.user, c.operation); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%d: %d %s", i, status, body)
		}
	}
	if status, body := ask(t, http.MethodPost, self+"/users/ines/sessions/s/items", key, `{"items":[{}]}`); status != 429 {
		t.Errorf("items of a session: %d %s", status, body)
	}
	if _, body := ask(t, http.MethodGet, self+"/usage", key, ""); !strings.Contains(body, `"items":1`) {
		t.Errorf("usage is %s", body)
	}
}

func TestTurnsOfATenantAreBounded(t *testing.T) {
	url, _ := startBefore(t, http.NotFoundHandler(), map[string]string{"MNEME_GATEWAY_TURNS_PER_MINUTE": "10"})
	put := func(name string, turns int) *http.Response {
		t.Helper()
		body := `{"turns":[` + strings.Repeat(`{"role":"user","text":"I live in Porto."},`, turns)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			url+"/v1/tenants/self/users/ines/sessions/s/turns",
			strings.NewReader(strings.TrimSuffix(body, ",")+"]}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + key}, "Idempotency-Key": {name}}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	for i, c := range []struct{ turns, status int }{{11, 413}, {10, 202}, {10, 429}} {
		res := put(fmt.Sprint(i), c.turns)
		limit, left, later := res.Header.Values("X-RateLimit-Limit"), res.Header.Get("X-RateLimit-Remaining"),
			res.Header.Get("Retry-After")
		refused := c.status != 202
		if res.StatusCode != c.status || len(limit) != 1 || (limit[0] == "10") != refused ||
			(left == "10") != (c.status == 413) ||
			(later != "") != (c.status == 429) {
			t.Errorf("%d turns: %s, limit %q, left %q, Retry-After %q", c.turns, res.Status, limit, left, later)
		}
	}
}

func TestAGatewayWithoutASecretDoesNotStart(t *testing.T) {
	err := runner.Run(t.Context(), gateway.Service, runner.Options{Environ: map[string]string{}, Stderr: &bytes.Buffer{}})
	if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "MNEME_INTERNAL_SECRET") {
		t.Errorf("got %v", err)
	}
}

func TestACallIsPartOfItsCallersTrace(t *testing.T) {
	url := start(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/tenants/self/usage", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	req.Header.Set("Traceparent", "00-"+id+"-b7ad6b7169203331-01")
	req.Header.Set("Authorization", "Token "+key)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := res.Header.Get("Traceparent"); res.StatusCode != http.StatusOK || !strings.Contains(got, id) {
		t.Errorf("%s, traceparent %q", res.Status, got)
	}
}
