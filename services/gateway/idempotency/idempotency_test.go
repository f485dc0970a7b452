package idempotency_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	store "github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns requests over a Redis of their own.
func open(t *testing.T, o store.Options) (*idempotency.Requests, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return &idempotency.Requests{Store: store.New(client, o), Log: slog.New(slog.DiscardHandler)}, server
}

func write(w http.ResponseWriter, _ *http.Request, p problem.Problem) {
	w.Header().Set("Retry-After", problem.Seconds(p.RetryAfter))
	w.WriteHeader(p.Status)
	_, _ = io.WriteString(w, p.Field+": "+p.Detail)
}

// call is a request of a tenant.
type call struct{ tenant, credential, path, key, body string }

func (c call) request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/v1/"+c.path, strings.NewReader(c.body))
	if c.key != "" {
		r.Header.Set(idempotency.Header, c.key)
	}
	r.Header.Set("Authorization", "Bearer "+c.credential)
	return r.WithContext(access.NewContext(r.Context(), access.Principal{Tenant: tenant.Tenant{ID: c.tenant}, KeyID: "k"}))
}

func (c call) do(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, c.request())
	return w
}

// counter answers with the number of the call; the body says the status.
type counter struct{ calls int }

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.calls++
	body, _ := io.ReadAll(r.Body)
	status, err := strconv.Atoi(string(body))
	if err != nil {
		status = http.StatusAccepted
	}
	w.Header().Set("Location", "/there")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "call "+strconv.Itoa(c.calls)+" with "+string(body))
}

var first = call{"acme", "KEY-1", "turns", "once", `{"text":"tea"}`}

func TestARepeatedRequestIsCarriedOutOnce(t *testing.T) {
	requests, redis := open(t, store.Options{})
	next := &counter{}
	h := requests.Wrap(write, next)
	a := first.do(h)
	b := first.do(h)
	if next.calls != 1 || a.Code != 202 || b.Code != 202 || a.Body.String() != b.Body.String() ||
		b.Header().Get("Location") != "/there" {
		t.Errorf("%d calls: %d %s, then %d %s", next.calls, a.Code, a.Body, b.Code, b.Body)
	}
	if a.Header().Get(idempotency.Replayed) != "" || b.Header().Get(idempotency.Replayed) != "true" {
		t.Errorf("replayed: %q, then %q", a.Header().Get(idempotency.Replayed), b.Header().Get(idempotency.Replayed))
	}
	redis.FastForward(store.DefaultKeep)
	if c := first.do(h); next.calls != 2 || c.Header().Get(idempotency.Replayed) != "" {
		t.Errorf("a day later: %d calls", next.calls)
	}
}

func TestAKeyCountsInItsScope(t *testing.T) {
	requests, _ := open(t, store.Options{})
	next := &counter{}
	h := requests.Wrap(write, next)
	first.do(h)
	for name, c := range map[string]call{
		"another tenant": {"beta", first.credential, first.path, first.key, first.body},
		"another route":  {first.tenant, first.credential, "memories", first.key, first.body},
		"another key":    {first.tenant, first.credential, first.path, "twice", first.body},
		"an escaped /":   {first.tenant, first.credential, "tur%2Fns", first.key, first.body},
	} {
		before := next.calls
		if w := c.do(h); w.Code != 202 || next.calls != before+1 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestAKeyOfAnotherRequestIsRefused(t *testing.T) {
	requests, _ := open(t, store.Options{})
	next := &counter{}
	h := requests.Wrap(write, next)
	first.do(h)
	other := first
	other.body = `{"text":"coffee"}`
	if w := other.do(h); w.Code != 422 || next.calls != 1 || !strings.Contains(w.Body.String(), idempotency.Header) {
		t.Errorf("another body: %d %s", w.Code, w.Body)
	}
	rotated := first
	rotated.credential = "KEY-2"
	if w := rotated.do(h); w.Code != 409 || next.calls != 1 || strings.Contains(w.Body.String(), "call 1") {
		t.Errorf("another API key: %d %s", w.Code, w.Body)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	requests, _ := open(t, store.Options{})
	next := &counter{}
	h := requests.Wrap(write, next)
	for _, key := range []string{"", " ", "a b", "é", "a\x00", strings.Repeat("x", 256)} {
		c := first
		c.key = key
		if w := c.do(h); w.Code != 400 || !strings.HasPrefix(w.Body.String(), idempotency.Header) {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
	}
	r := first.request()
	r.Header.Add(idempotency.Header, "again")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 400 {
		t.Errorf("two keys: %d", w.Code)
	}
	long := first
	long.key = strings.Repeat("~", 255)
	if w := long.do(h); w.Code != 202 || next.calls != 1 {
		t.Errorf("a key of 255 bytes: %d, %d calls", w.Code, next.calls)
	}
}

func TestWhatWasRefusedOrWentWrongMayBeRepeated(t *testing.T) {
	for _, status := range []string{"400", "409", "429", "500", "503"} {
		requests, _ := open(t, store.Options{})
		next := &counter{}
		h := requests.Wrap(write, next)
		c := first
		c.body = status
		c.do(h)
		if w := c.do(h); next.calls != 2 || strconv.Itoa(w.Code) != status {
			t.Errorf("%s: %d calls, then %d", status, next.calls, w.Code)
		}
		if w := first.do(h); w.Code != 202 {
			t.Errorf("mended after %s: %d %s", status, w.Code, w.Body)
		}
	}
}

func TestARequestInFlightIsToldSo(t *testing.T) {
	requests, redis := open(t, store.Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	var calls sync.Map
	h := requests.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := calls.LoadOrStore("first", true); !again {
			close(entered)
			<-leave
		}
		_, _ = io.WriteString(w, "done")
	}))
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- first.do(h) }()
	<-entered
	if w := first.do(h); w.Code != 409 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("in flight: %d %s", w.Code, w.Body)
	}
	redis.FastForward(store.DefaultLease) // as if its replica had died
	if w := first.do(h); w.Code != 200 {
		t.Errorf("after the lease: %d %s", w.Code, w.Body)
	}
	close(leave)
	if w := <-done; w.Code != 200 {
		t.Errorf("the first one: %d", w.Code)
	}
	if w := first.do(h); w.Header().Get(idempotency.Replayed) != "true" {
		t.Error("the answer of the second one is not kept")
	}
}

func TestAPanicReleasesTheKey(t *testing.T) {
	requests, _ := open(t, store.Options{})
	failing := true
	h := requests.Wrap(write, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if failing {
			panic(http.ErrAbortHandler)
		}
	}))
	func() {
		defer func() { _ = recover() }()
		first.do(h)
	}()
	failing = false
	if w := first.do(h); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWithoutRedisNothingIsCarriedOut(t *testing.T) {
	requests, redis := open(t, store.Options{Timeout: 100 * time.Millisecond})
	next := &counter{}
	h := requests.Wrap(write, next)
	redis.Close()
	if w := first.do(h); w.Code != 503 || next.calls != 0 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s, %d calls", w.Code, w.Body, next.calls)
	}
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	if _, err := requests.Knows(t.Context(), ines, store.Turn, "t1"); problem.From(err).Status != 503 {
		t.Errorf("got %v", err)
	}
	if err := requests.NoteErasure(t.Context(), ines, "e1"); err == nil {
		t.Error("noted without Redis")
	}
}

func TestRedisHoldsNothingThatCanBeRead(t *testing.T) {
	requests, redis := open(t, store.Options{})
	h := requests.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "SECRET of ines")
	}))
	c := first
	c.key, c.path = "IDEMPOTENT", "users/ines/turns"
	c.do(h)
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	_, token, err := requests.Reused(t.Context(), ines, "s", nil)
	if err == nil {
		err = requests.NoteTurns(t.Context(), ines, token, "s", []memory.Turn{{ID: "TURN", Text: "TEXT"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	dump := redis.Dump()
	for _, secret := range []string{"SECRET", "KEY-1", "ines", "IDEMPOTENT", "tea", "TURN", "TEXT"} {
		if strings.Contains(dump, secret) {
			t.Errorf("Redis holds %s: %s", secret, dump)
		}
	}
}

func TestTheRequestEndsBeforeItsLease(t *testing.T) {
	requests, _ := open(t, store.Options{Lease: time.Minute})
	h := requests.Wrap(write, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if until, ok := r.Context().Deadline(); !ok || time.Until(until) > time.Minute {
			t.Errorf("the deadline is %v, %t", until, ok)
		}
	}))
	first.do(h)
}

func TestAnAnswerIsKeptWhenTheClientHasGone(t *testing.T) {
	requests, _ := open(t, store.Options{})
	next := &counter{}
	h := requests.Wrap(write, http.HandlerFunc(next.ServeHTTP))
	ctx, cancel := context.WithCancel(t.Context())
	r := first.request()
	r = r.WithContext(access.NewContext(ctx, access.Principal{Tenant: tenant.Tenant{ID: "acme"}}))
	gone := requests.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		next.ServeHTTP(w, r)
	}))
	gone.ServeHTTP(httptest.NewRecorder(), r)
	if w := first.do(h); next.calls != 1 || w.Header().Get(idempotency.Replayed) != "true" {
		t.Errorf("%d calls, %d", next.calls, w.Code)
	}
}

func TestEightAtOnceAreOne(t *testing.T) {
	requests, _ := open(t, store.Options{})
	next := &counter{}
	h := requests.Wrap(write, next)
	var all sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		all.Go(func() { codes[i] = first.do(h).Code })
	}
	all.Wait()
	for _, c := range codes {
		if c != 202 && c != 409 {
			t.Errorf("got %d", c)
		}
	}
	if next.calls != 1 {
		t.Errorf("%d calls", next.calls)
	}
}

// about is a request about a user.
func about(h http.Handler, user string) *httptest.ResponseRecorder {
	r := first.request()
	r.SetPathValue("user", user)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAnErasureTakesAnswers(t *testing.T) {
	requests, redis := open(t, store.Options{})
	ines := memory.Scope{Tenant: first.tenant, User: "ines"}
	next := &counter{}
	h := requests.Wrap(write, next)
	about(h, "ines")
	other := first
	other.key = "twice"
	r := other.request()
	r.SetPathValue("user", "ben")
	h.ServeHTTP(httptest.NewRecorder(), r)
	before := redis.Dump()
	if err := requests.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	if n, err := requests.Count(t.Context(), ines, ""); err != nil || n != 0 || redis.Dump() == before {
		t.Errorf("%d answers are left, %v", n, err)
	}
	if w := about(h, "ines"); w.Code != http.StatusGone || next.calls != 2 ||
		!strings.HasPrefix(w.Body.String(), idempotency.Header) {
		t.Errorf("%d calls; the same request is answered %d %s", next.calls, w.Code, w.Body)
	}
	again := httptest.NewRecorder()
	r = other.request()
	r.SetPathValue("user", "ben")
	if h.ServeHTTP(again, r); again.Header().Get(idempotency.Replayed) != "true" {
		t.Errorf("another user's is answered %d %s", again.Code, again.Body)
	}
}

func TestAnErasureTakesAnswersThatAreOnTheirWay(t *testing.T) {
	requests, _ := open(t, store.Options{})
	ines := memory.Scope{Tenant: first.tenant, User: "ines"}
	next := &counter{}
	h := requests.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := requests.Erase(r.Context(), ines, ""); err != nil {
			t.Error(err)
		}
		next.ServeHTTP(w, r)
	}))
	if w := about(h, "ines"); w.Code != http.StatusAccepted {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if w := about(h, "ines"); w.Code != http.StatusGone || next.calls != 1 {
		t.Errorf("%d calls; the same request is answered %d %s", next.calls, w.Code, w.Body)
	}
}
