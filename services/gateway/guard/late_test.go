package guard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

func TestALateBodyIsARequestTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// as the server of a service does in time
		if err := http.NewResponseController(w).SetReadDeadline(time.Now()); err != nil {
			t.Error(err)
		}
		_, err := problem.ReadBody(r)
		write(w, r, problem.From(err))
	}))
	defer server.Close()
	body, end := io.Pipe()
	defer end.Close()
	resp, err := server.Client().Post(server.URL, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close() != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("answered %d", resp.StatusCode)
	}
}

func TestARefusalEndsTheConnectionOfAnUnreadBodyOnly(t *testing.T) {
	for name, c := range map[string]struct {
		body  io.Reader
		major int
		want  string
	}{
		"a body over HTTP/1":  {unread{t}, 1, "close"},
		"no body over HTTP/1": {http.NoBody, 1, ""},
		"a body over HTTP/2":  {unread{t}, 2, ""},
		"nothing over HTTP/1": {nil, 1, ""},
		"no body over HTTP/2": {http.NoBody, 2, ""},
		"nothing over HTTP/2": {nil, 2, ""},
	} {
		r, w := httptest.NewRequest(http.MethodPost, "/", c.body), httptest.NewRecorder()
		r.ProtoMajor = c.major
		guarding(nil).Wrap(write, http.NotFoundHandler()).ServeHTTP(w, r)
		if got := w.Header().Get("Connection"); got != c.want || w.Code != http.StatusUnauthorized {
			t.Errorf("%s: answered %d, Connection is %q, want %q", name, w.Code, got, c.want)
		}
	}
}

func TestLimitsThatCannotBeToldAreSaidSo(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"served all the same": {nil, http.StatusOK},
		"refused": {problem.Problem{Status: http.StatusServiceUnavailable, Code: problem.CodeUnavailable},
			http.StatusServiceUnavailable},
	} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer good")
		guarding(untold{c.err}).Wrap(write, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get(problem.RateLimitStatus) != "unavailable" ||
			w.Header().Get("X-RateLimit-Limit") != "" {
			t.Errorf("%s: answered %d, %v", name, w.Code, w.Header())
		}
	}
}

// untold is a limiter without available limits.
type untold struct{ err error }

func (u untold) Request(context.Context, access.Principal) (problem.Allowance, error) {
	return problem.Allowance{Unavailable: true}, u.err
}
