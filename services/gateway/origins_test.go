package gateway_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

const page = "https://app.example.com"

// fromPage makes a request as a browser does for a page of an origin; headers are pairs.
func fromPage(t *testing.T, method, url, origin, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// varies reports whether an answer says that it is another for another origin.
func varies(h http.Header) bool {
	return strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin")
}

func TestPagesOfKnownOriginsMayCall(t *testing.T) {
	url, _ := startBefore(t, http.NotFoundHandler(),
		map[string]string{"MNEME_GATEWAY_ORIGINS": page + ",http://localhost:3000"})
	const list, headers = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "authorization,content-type,idempotency-key"
	for path, c := range map[string]struct{ method, body string }{
		"/v1/tenants/self/usage":         {http.MethodGet, ""},
		"/v1/tenants/self/webhooks/none": {http.MethodPatch, `{"active":false}`},
		"/v3/memories/add/":              {http.MethodPost, `{"messages":"I like tea.","user_id":"ines"}`},
		"/mcp":                           {http.MethodPost, list},
	} {
		for _, origin := range []string{page, "http://localhost:3000", "https://evil.example"} {
			want := origin
			if origin == "https://evil.example" {
				want = ""
			}
			before := fromPage(t, http.MethodOptions, url+path, origin, "", "Access-Control-Request-Method", c.method,
				"Access-Control-Request-Headers", headers)
			h := before.Header
			if before.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != want || !varies(h) ||
				want != "" &&
					(h.Get("Access-Control-Allow-Methods") != c.method || h.Get("Access-Control-Allow-Headers") != headers) {
				t.Errorf("%s from %s, preflight: %s %v", path, origin, before.Status, h)
			}
			h = fromPage(t, c.method, url+path, origin, c.body, "Authorization", "Bearer "+key, "Content-Type",
				"application/json",
				"Accept", "application/json, text/event-stream").Header
			if h.Get("Access-Control-Allow-Origin") != want || !varies(h) || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s from %s: %v", path, origin, h)
			}
			for _, name := range []string{"ETag", "X-Request-Id", "Retry-After", "X-RateLimit-Remaining", "traceparent"} {
				exposed := strings.Contains(strings.ToLower(h.Get("Access-Control-Expose-Headers")), strings.ToLower(name))
				if exposed != (want != "") {
					t.Errorf("%s from %s, %s: %v", path, origin, name, h)
				}
			}
			if h := fromPage(t, c.method, url+path, origin, c.body).Header; h.Get("Access-Control-Allow-Origin") != want {
				t.Errorf("%s from %s, without a key: %v", path, origin, h)
			}
		}
	}
}

func TestPagesOfAnyOriginMayCallWhereThatIsSet(t *testing.T) {
	url, _ := startBefore(t, http.NotFoundHandler(), map[string]string{"MNEME_GATEWAY_ORIGINS": "*"})
	res := fromPage(t, http.MethodPost, url+"/mcp", "https://any.example",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"Authorization", "Bearer "+key, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	if res.StatusCode != http.StatusOK || res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
}

func TestNoPageMayCallUnlessThatIsSet(t *testing.T) {
	url := start(t)
	before := fromPage(t, http.MethodOptions, url+"/v1/tenants/self/usage", page, "", "Access-Control-Request-Method",
		http.MethodGet)
	after := fromPage(t, http.MethodGet, url+"/v1/tenants/self/usage", page, "", "Authorization", "Bearer "+key)
	if before.StatusCode != http.StatusUnauthorized || after.StatusCode != http.StatusOK ||
		before.Header.Get("Access-Control-Allow-Origin")+after.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s %v, %s %v", before.Status, before.Header, after.Status, after.Header)
	}
}

func TestWhatIsNoOrigin(t *testing.T) {
	for _, origins := range []string{
		"app.example.com", page + "/", page + "/path", "https://*.example.com", page + ", https://b.example", "null",
	} {
		err := runner.Run(t.Context(), gateway.Service, runner.Options{Stderr: &bytes.Buffer{}, Environ: map[string]string{
			"MNEME_INTERNAL_SECRET": "a secret of services", "MNEME_GATEWAY_ORIGINS": origins,
		}})
		if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "MNEME_GATEWAY_ORIGINS") {
			t.Errorf("%s: %v", origins, err)
		}
	}
}
