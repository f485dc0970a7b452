package rest_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/shared/access"
)

// described is an operation as /openapi.json has it.
type described struct {
	method, path string
	OperationID  string         `json:"operationId"`
	Description  string         `json:"description"`
	Responses    map[string]any `json:"responses"`
	RequestBody  map[string]any `json:"requestBody"`
}

// needsOnly reports whether the description says that an operation needs a scope, and no other.
func (d described) needsOnly(s access.Scope) bool {
	return strings.HasPrefix(regexp.MustCompile("Needs the scopes? .*").FindString(d.Description),
		"Needs the scope `"+string(s)+"`.")
}

// operations reads the description. Each operation gets a path with filled parameters.
func (g *gateway) operations() (out []described) {
	g.t.Helper()
	a := g.public("/openapi.json")
	var description struct {
		Paths map[string]map[string]described `json:"paths"`
	}
	if err := json.Unmarshal([]byte(a.text), &description); err != nil {
		g.t.Fatal(err)
	}
	fill := strings.NewReplacer("{user}", "ines", "{session}", "s", "{turn}", "t", "{memory}", first, "{erasure}", "e",
		"{key}", "k",
		"{letter}", "l")
	for path, methods := range description.Paths {
		for method, d := range methods {
			d.method, d.path = strings.ToUpper(method), fill.Replace(path)
			out = append(out, d)
		}
	}
	return out
}

func (g *gateway) public(path string) answer {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.url+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.do(r)
}

func TestEveryOperationHoldsItsCaller(t *testing.T) {
	g := open(t)
	all := g.operations()
	if len(all) != 43 {
		t.Errorf("%d operations", len(all))
	}
	for _, o := range all {
		for key, may := range map[string]bool{
			"INGEST": o.needsOnly(access.Ingest), "READ": o.needsOnly(access.Read), "ADMIN": o.needsOnly(access.Admin),
			"BEN": false, "ALL": true,
		} {
			a := g.call(o.method, o.path, "", "Authorization: Bearer "+key)
			if (a.status == 403) == may {
				t.Errorf("%s %s with %s: %d %s", o.method, o.path, key, a.status, a.text)
			}
			if !may {
				a.expect(t, 403, map[string]any{"code": "forbidden"})
			}
		}
		g.call(o.method, o.path, "", "Authorization: Bearer NOBODY").expect(t, 401, map[string]any{"code": "unauthenticated"})
	}
}

func TestAUsersKeyReachesThatUser(t *testing.T) {
	g := open(t)
	for path, want := range map[string]int{
		"/users/ben": 200, "/users/b%65n": 200, "/users/Ben": 403, "/users/ben%20": 403, "/users/%2E%2E": 403,
	} {
		if a := g.call(http.MethodGet, self+path+"/core", "", "Authorization: Bearer BEN"); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
	put := func(user, key string) answer {
		return g.call(http.MethodPost, self+"/users/"+user+"/sessions/s/turns", oneTurn, "Idempotency-Key: k",
			"Authorization: Bearer "+key)
	}
	put("ines", "ALL").expect(t, 202, nil)
	put("ines", "BEN").expect(t, 403, nil) // nor is it shown the answer
	put("ben", "BEN").expect(t, 202, nil)
	put("ben", "ALL").expect(t, 409, nil)
}

func TestAnotherTenantIsAskedForAsItself(t *testing.T) {
	g := open(t)
	for _, o := range g.operations() {
		a := g.call(o.method, o.path, `{"query":"q","recall_id":"r"}`, "Authorization: Bearer BETA", "Mneme-Tenant: acme")
		if a.status != http.StatusForbidden || len(g.behind.calls) > 0 {
			t.Errorf("%s %s: a key of another tenant than is named: %d, asked %v", o.method, o.path, a.status, g.behind.calls)
		}
	}
	for _, o := range g.operations() {
		g.call(o.method, o.path, `{"query":"q","recall_id":"r"}`, "Authorization: Bearer BETA", "Mneme-Tenant: beta")
	}
	if len(g.behind.calls) < 10 || slices.ContainsFunc(g.behind.calls, func(c string) bool {
		return !strings.HasSuffix(c, " beta")
	}) {
		t.Errorf("asked %v", g.behind.calls)
	}
}

func TestEveryOperationDescribesItsAnswers(t *testing.T) {
	g := open(t)
	for _, o := range g.operations() {
		want := []string{"400", "401", "403", "429", "500", "503"}
		if o.RequestBody != nil {
			want = append(want, "408", "413", "415")
		}
		for _, status := range want {
			if o.Responses[status] == nil {
				t.Errorf("%s does not describe %s", o.OperationID, status)
			}
		}
		a := g.call(o.method, o.path+"?nobody=1", "")
		a.expect(t, 400, map[string]any{"errors.0.field": "nobody", "errors.0.location": "query"})
	}
}

func TestWhatGoesWrongBehindIsAProblem(t *testing.T) {
	g := open(t)
	for code, want := range map[connect.Code]struct {
		status int
		code   string
	}{
		connect.CodeUnavailable: {503, "unavailable"}, connect.CodeDeadlineExceeded: {503, "unavailable"},
		connect.CodeUnknown:  {500, "internal"},
		connect.CodeInternal: {500, "internal"}, connect.CodeResourceExhausted: {429, "rate_limited"},
	} {
		g.behind.fail = connect.NewError(code, errors.New("at 10.0.0.1"))
		a := g.call(http.MethodPost, ines+"/recall", `{"query":"q"}`)
		a.expect(t, want.status, map[string]any{"code": want.code})
		if (a.header.Get("Retry-After") != "") == (want.status == 500) {
			t.Errorf("%s: Retry-After is %q", code, a.header.Get("Retry-After"))
		}
		if want.status == 500 && (strings.Contains(a.text, "10.0.0.1") ||
			!strings.Contains(g.log.String(), "operation=recall")) {
			t.Errorf("%s: told %s, logged %s", code, a.text, g.log)
		}
	}
	g.behind.fail = connect.NewError(connect.CodeInvalidArgument, errors.New("memories: is 50, want 1 to 20"))
	g.call(http.MethodPost, ines+"/recall", `{"query":"q"}`).expect(t, 400, map[string]any{
		"errors.0.field": "memories", "errors.0.location": "body", "errors.0.message": "is 50, want 1 to 20",
		"detail": "memories: is 50, want 1 to 20",
	})
	g.behind.fail = connect.NewError(connect.CodeInvalidArgument, errors.New("user_id: is empty"))
	g.call(http.MethodPost, ines+"/recall", `{"query":"q"}`).expect(t, 400, map[string]any{
		"errors.0.field": "user", "errors.0.location": "path",
	})
}

func TestBodiesThatAreNone(t *testing.T) {
	g := open(t)
	path := ines + "/recall"
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"no JSON":           {`{"query":`, nil, 400},
		"two values":        {`{"query":"q"} {}`, nil, 400},
		"no UTF-8":          {"{\"query\":\"\xff\"}", nil, 400},
		"too deep":          {strings.Repeat("[", 1<<20), nil, 400},
		"deep in a field":   {`{"query":` + strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 61), nil, 400},
		"too large":         {`{"query":"` + strings.Repeat("x", 8<<20) + `"}`, nil, 413},
		"many fields":       {`{"query":"q",` + strings.Repeat(`"a":1,`, 100_000) + `"b":1}`, nil, 400},
		"another type":      {`{"query":"q"}`, []string{"Content-Type: text/plain"}, 415},
		"a type that is no": {`{"query":"q"}`, []string{"Content-Type: ;"}, 415},
		"compressed":        {`{"query":"q"}`, []string{"Content-Encoding: gzip"}, 415},
		"a charset":         {`{"query":"q"}`, []string{"Content-Type: application/json; charset=utf-8"}, 200},
		"accepting XML":     {`{"query":"q"}`, []string{"Accept: application/xml"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.call(http.MethodPost, path, c.body, c.headers...)
			a.expect(t, c.status, nil)
			if len(a.text) > 1000 {
				t.Errorf("an answer of %d bytes", len(a.text))
			}
		})
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader(`{"query":"q"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ALL")
	g.do(r).expect(t, 200, nil) // without a type it is JSON
}

// late is a body that does not arrive.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestABodyThatDoesNotArrive(t *testing.T) {
	g := open(t)
	r := httptest.NewRequest(http.MethodPost, ines+"/recall", late{})
	w := httptest.NewRecorder()
	g.api.Handler().ServeHTTP(w, r.WithContext(access.NewContext(context.Background(), callers()["ALL"])))
	if w.Code != 408 || !strings.Contains(w.Body.String(), "in time") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPathsAndMethodsThatAreNone(t *testing.T) {
	g := open(t)
	for _, path := range []string{self, self + "/nobody", self + "/users", ines + "/recall/x",
		self + "/users/a/b/c/d/e/f"} {
		g.call(http.MethodGet, path, "").expect(t, 404, map[string]any{"code": "not_found"})
	}
	a := g.call(http.MethodGet, "/v1/tenants/beta/users/ines/core", "")
	a.expect(t, 404, nil)
	if !strings.Contains(a.text, "the tenant is the API key's tenant") {
		t.Errorf("%s", a.text)
	}
	for method, path := range map[string]string{http.MethodGet: ines + "/recall", http.MethodPut: ines + "/core",
		http.MethodPost: ines} {
		a := g.call(method, path, "")
		a.expect(t, 405, nil)
		if a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", method, path)
		}
	}
	if allow := g.call(http.MethodPut, ines+"/memories/"+first,
		"").header.Get("Allow"); allow != "DELETE, GET, HEAD, PATCH" {
		t.Errorf("Allow is %q", allow)
	}
}

func TestTheDescription(t *testing.T) {
	g := open(t)
	a := g.public("/openapi.json")
	var description map[string]any
	if err := json.Unmarshal([]byte(a.text), &description); err != nil || description["openapi"] != "3.1.0" {
		t.Fatalf("%v: %s", err, a.text)
	}
	for _, unwanted := range []string{"ErrorModel", "$schema", `"null"`} {
		if strings.Contains(a.text, unwanted) {
			t.Errorf("the description has %s", unwanted)
		}
	}
	again := open(t).public("/openapi.json")
	if again.text != a.text {
		t.Error("the description differs from run to run")
	}
}

func TestTheDocumentation(t *testing.T) {
	g := open(t)
	a := g.public("/docs")
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", a.status, a.header)
	}
	for _, o := range g.operations() {
		if !strings.Contains(a.text, `id="`+o.OperationID+`"`) {
			t.Errorf("%s is not documented", o.OperationID)
		}
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(a.text)
	sum := sha256.Sum256([]byte(style[1]))
	policy := a.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the policy %q does not let the style in", policy)
	}
	if regexp.MustCompile(`<script|<link|src=|style=|https?://`).MatchString(a.text) {
		t.Error("the page loads something, or has what the policy forbids")
	}
}

func TestTheDescriptionListsTheCodesOfProblems(t *testing.T) {
	g := open(t)
	var said struct {
		Components struct {
			Schemas struct {
				Problem struct {
					Properties struct{ Code struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(g.call(http.MethodGet, "/openapi.json", "").text), &said); err != nil {
		t.Fatal(err)
	}
	if got := said.Components.Schemas.Problem.Properties.Code.Enum; !slices.Equal(got, problem.Codes()) {
		t.Errorf("codes: %v", got)
	}
}

func TestPartsAreNeeded(t *testing.T) {
	if _, err := rest.New(rest.Parts{}); err == nil {
		t.Error("an API of nothing")
	}
}

func TestWriteProblem(t *testing.T) {
	w := httptest.NewRecorder()
	rest.WriteProblem(w, nil, problem.Problem{Status: 429, Code: problem.CodeRateLimited, Detail: "over the limit",
		RetryAfter: 1500e6})
	body, _ := io.ReadAll(w.Body)
	want := `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"over the limit","code":"rate_limited"}`
	if w.Code != 429 || strings.TrimSpace(string(body)) != want || w.Header().Get("Retry-After") != "2" {
		t.Errorf("%d %v %s", w.Code, w.Header(), body)
	}
}
