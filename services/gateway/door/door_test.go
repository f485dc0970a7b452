package door_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys knows one key.
type keys struct{}

func (keys) Authenticate(_ context.Context, key string) (access.Principal, error) {
	switch key {
	case "good":
		return access.Principal{Tenant: tenant.Tenant{ID: "acme"}, KeyID: "k"}, nil
	case "away":
		return access.Principal{}, errors.New("secret-host:6379 is away")
	}
	return access.Principal{}, tenant.ErrUnknownKey
}

// limits are used up where left is 0.
type limits struct {
	left int
	err  error
}

func (l limits) Request(context.Context, access.Principal) (door.Allowance, error) {
	a := door.Allowance{Limit: 10, Remaining: l.left, Reset: time.Second, Quota: "requests per second"}
	if l.left == 0 {
		a.RetryAfter = 1500 * time.Millisecond
	}
	return a, l.err
}

func write(w http.ResponseWriter, _ *http.Request, p door.Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", door.Seconds(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = io.WriteString(w, p.Code+": "+p.Detail)
}

func guard(l door.Limiter) *door.Guard {
	return &door.Guard{Auth: keys{}, Limits: l, Log: slog.New(slog.DiscardHandler)}
}

// unread fails the test on a read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read before the key is known")
	return 0, io.EOF
}

func TestGuard(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		limits door.Limiter
		status int
		want   string
	}{
		"bearer":         {http.Header{"Authorization": {"Bearer good"}}, limits{left: 3}, 200, "acme"},
		"token":          {http.Header{"Authorization": {"token  good"}}, nil, 200, "acme"},
		"none":           {http.Header{}, nil, 401, "missing"},
		"several":        {http.Header{"Authorization": {"Bearer good", "Bearer good"}}, nil, 401, "several"},
		"another scheme": {http.Header{"Authorization": {"Basic good"}}, nil, 401, "form"},
		"unknown":        {http.Header{"Authorization": {"Bearer KEY-typo"}}, nil, 401, "not known"},
		"store away":     {http.Header{"Authorization": {"Bearer away"}}, nil, 503, "cannot check keys"},
		"over the limit": {http.Header{"Authorization": {"Bearer good"}}, limits{}, 429, "requests per second"},
		"limits away":    {http.Header{"Authorization": {"Bearer good"}}, limits{left: 1, err: errors.New("x")}, 503, "limits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", unread{t})
			r.Header = c.header
			w := httptest.NewRecorder()
			guard(c.limits).Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p, _ := access.FromContext(r.Context())
				of, _ := tenant.FromContext(r.Context())
				_, _ = io.WriteString(w, p.Tenant.ID+of.ID)
			})).ServeHTTP(w, r)
			body := w.Body.String()
			if w.Code != c.status || !strings.Contains(body, c.want) || w.Header().Get(door.RequestIDHeader) == "" {
				t.Errorf("%d %q %v", w.Code, body, w.Header())
			}
			if strings.Contains(body, "KEY-typo") || strings.Contains(body, "6379") {
				t.Errorf("%q shows what it must not", body)
			}
			if retry := w.Header().Get("Retry-After"); (c.status == 429 || c.status == 503) != (retry != "") {
				t.Errorf("Retry-After is %q", retry)
			}
			if (c.status == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate is %q", w.Header().Get("WWW-Authenticate"))
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	for id, kept := range map[string]bool{"abc-1": true, "": false, "a b": false, "a\nb": false, strings.Repeat("x", 129): false, "é": false} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set(door.RequestIDHeader, id)
		door.Identify(w, r)
		if got := w.Header().Get(door.RequestIDHeader); (got == id) != kept || got == "" {
			t.Errorf("%q became %q", id, got)
		}
	}
}

func TestProblemOf(t *testing.T) {
	rpc := func(c connect.Code, text string) error { return connect.NewError(c, errors.New(text)) }
	for _, c := range []struct {
		err           error
		status        int
		field, detail string
	}{
		{fault.Terminal("turns[3].text", "is empty"), 400, "turns[3].text", "is empty"},
		{rpc(connect.CodeInvalidArgument, "query: is empty, want 1 to 4096 bytes"), 400, "query", "is empty, want 1 to 4096 bytes"},
		{rpc(connect.CodeNotFound, "memory not found"), 404, "", "memory not found"},
		{rpc(connect.CodeFailedPrecondition, "superseded"), 409, "", "superseded"},
		{rpc(connect.CodeUnavailable, "away"), 503, "", "away"},
		{rpc(connect.CodeUnknown, "x"), 500, "", "an internal error"},
		{access.ErrForbidden, 403, "", "not allowed"},
		{context.DeadlineExceeded, 503, "", "the deadline is exceeded"},
		{&http.MaxBytesError{Limit: 1}, 413, "", "the body is too large"},
		{errors.New("dial tcp 10.0.0.1: secret"), 500, "", "an internal error"},
		{door.Invalid("limit", "is 0"), 400, "limit", "is 0"},
	} {
		p := door.ProblemOf(c.err)
		if p.Status != c.status || p.Field != c.field || !strings.HasPrefix(p.Detail, c.detail) {
			t.Errorf("%v: got %+v", c.err, p)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	for body, ok := range map[string]bool{
		"": true, " ": true, `{"a":[1,"]]]]{{{{"]}`: true, `{"a"`: false, "{} {}": false, "\xff": false, `"\`: false,
		strings.Repeat("[", 64) + strings.Repeat("]", 64): true, strings.Repeat("[", 65) + strings.Repeat("]", 65): false,
		strings.Repeat("[", 1<<20): false, `{"a":"` + strings.Repeat("{", 100) + `"}`: true,
	} {
		if err := door.CheckJSON([]byte(body)); (err == nil) != ok {
			t.Errorf("%.40q: got %v", body, err)
		}
	}
}

func TestCheckTextNamesTheField(t *testing.T) {
	const half = `has an escaped half of a surrogate pair (\ud800 to \udfff), which is no character`
	for body, want := range map[string]door.Problem{
		`{"turns":[{},{"text":"\ud800"}]}`: door.Malformed("turns[1].text", half),
		`{"user_id":"a","user_id":"b"}`:    door.Malformed("user_id", "occurs twice"),
		"{\"a\":1}\n{\"a\":1}":             {},
		strings.Repeat("[", 65):            door.Malformed("", "the body is nested too deep, want at most 64 levels"),
	} {
		var p door.Problem
		errors.As(door.CheckText([]byte(body)), &p)
		if p != want {
			t.Errorf("%s: got %+v, want %+v", body, p, want)
		}
	}
}

// FuzzCheckJSON finds values that a decoder would replace.
func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":["\\"]}`))
	f.Add([]byte(`"\ud83d\ude00\ud800"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = door.CheckText(body) // whatever it is
		if door.CheckJSON(body) != nil || bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`)) || bytes.ContainsRune(body, '\uFFFD') {
			return
		}
		var value any
		if err := json.Unmarshal(body, &value); err == nil && strings.ContainsRune(fmt.Sprint(value), '\uFFFD') {
			t.Errorf("%q has something replaced", body)
		}
	})
}
