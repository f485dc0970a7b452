package guard_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
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

func (l limits) Request(context.Context, access.Principal) (problem.Allowance, error) {
	a := problem.Allowance{Limit: 10, Remaining: l.left, Reset: time.Second, Quota: "requests per second"}
	if l.left == 0 {
		a.RetryAfter = 1500 * time.Millisecond
	}
	return a, l.err
}

func write(w http.ResponseWriter, _ *http.Request, p problem.Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", problem.Seconds(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = io.WriteString(w, p.Code+": "+p.Detail)
}

func guarding(l guard.Limiter) *guard.Guard {
	return &guard.Guard{Auth: keys{}, Limits: l, Log: slog.New(slog.DiscardHandler)}
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
		limits guard.Limiter
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
		"limits away": {http.Header{"Authorization": {"Bearer good"}}, limits{left: 1, err: errors.New("x")}, 503,
			"limits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", unread{t})
			r.Header = c.header
			w := httptest.NewRecorder()
			guarding(c.limits).Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p, _ := access.FromContext(r.Context())
				of, _ := tenant.FromContext(r.Context())
				_, _ = io.WriteString(w, p.Tenant.ID+of.ID)
			})).ServeHTTP(w, r)
			body := w.Body.String()
			if w.Code != c.status || !strings.Contains(body, c.want) || w.Header().Get(guard.RequestIDHeader) == "" {
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
	for id, kept := range map[string]bool{"abc-1": true, "": false, "a b": false, "a\nb": false,
		strings.Repeat("x", 129): false, "é": false} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set(guard.RequestIDHeader, id)
		guard.Identify(w, r)
		if got := w.Header().Get(guard.RequestIDHeader); (got == id) != kept || got == "" {
			t.Errorf("%q became %q", id, got)
		}
	}
}
