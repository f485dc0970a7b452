package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a store over a Redis of its own.
func open(t *testing.T, o idempotency.Options) (*idempotency.Store, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return idempotency.New(client, o), server
}

func write(w http.ResponseWriter, _ *http.Request, p door.Problem) {
	w.Header().Set("Retry-After", door.Seconds(p.RetryAfter))
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
	store, redis := open(t, idempotency.Options{})
	next := &counter{}
	h := store.Wrap(write, next)
	a := first.do(h)
	b := first.do(h)
	if next.calls != 1 || a.Code != 202 || b.Code != 202 || a.Body.String() != b.Body.String() || b.Header().Get("Location") != "/there" {
		t.Errorf("%d calls: %d %s, then %d %s", next.calls, a.Code, a.Body, b.Code, b.Body)
	}
	if a.Header().Get(idempotency.Replayed) != "" || b.Header().Get(idempotency.Replayed) != "true" {
		t.Errorf("replayed: %q, then %q", a.Header().Get(idempotency.Replayed), b.Header().Get(idempotency.Replayed))
	}
	redis.FastForward(idempotency.DefaultKeep)
	if c := first.do(h); next.calls != 2 || c.Header().Get(idempotency.Replayed) != "" {
		t.Errorf("a day later: %d calls", next.calls)
	}
}

func TestAKeyCountsInItsScope(t *testing.T) {
	store, _ := open(t, idempotency.Options{})
	next := &counter{}
	h := store.Wrap(write, next)
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
	store, _ := open(t, idempotency.Options{})
	next := &counter{}
	h := store.Wrap(write, next)
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
	store, _ := open(t, idempotency.Options{})
	next := &counter{}
	h := store.Wrap(write, next)
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
		store, _ := open(t, idempotency.Options{})
		next := &counter{}
		h := store.Wrap(write, next)
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
	store, redis := open(t, idempotency.Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	var calls sync.Map
	h := store.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	redis.FastForward(idempotency.DefaultLease) // as if its replica had died
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
	store, _ := open(t, idempotency.Options{})
	failing := true
	h := store.Wrap(write, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
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
	store, redis := open(t, idempotency.Options{Timeout: 100 * time.Millisecond})
	next := &counter{}
	h := store.Wrap(write, next)
	redis.Close()
	if w := first.do(h); w.Code != 503 || next.calls != 0 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s, %d calls", w.Code, w.Body, next.calls)
	}
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	if _, err := store.Knows(t.Context(), ines, idempotency.Turn, "t1"); door.ProblemOf(err).Status != 503 {
		t.Errorf("got %v", err)
	}
	if err := store.Note(t.Context(), ines, idempotency.Turn, "t1"); err == nil {
		t.Error("noted without Redis")
	}
}

func TestRedisHoldsNothingThatCanBeRead(t *testing.T) {
	store, redis := open(t, idempotency.Options{})
	h := store.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "SECRET of ines") }))
	c := first
	c.key, c.path = "IDEMPOTENT", "users/ines/turns"
	c.do(h)
	if err := store.Note(t.Context(), memory.Scope{Tenant: "acme", User: "ines"}, idempotency.Turn, "TURN"); err != nil {
		t.Fatal(err)
	}
	dump := redis.Dump()
	for _, secret := range []string{"SECRET", "KEY-1", "ines", "IDEMPOTENT", "tea", "TURN"} {
		if strings.Contains(dump, secret) {
			t.Errorf("Redis holds %s: %s", secret, dump)
		}
	}
}

func TestTheRequestEndsBeforeItsLease(t *testing.T) {
	store, _ := open(t, idempotency.Options{Lease: time.Minute})
	h := store.Wrap(write, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if until, ok := r.Context().Deadline(); !ok || time.Until(until) > time.Minute {
			t.Errorf("the deadline is %v, %t", until, ok)
		}
	}))
	first.do(h)
}

func TestAnAnswerIsKeptWhenTheClientHasGone(t *testing.T) {
	store, _ := open(t, idempotency.Options{})
	next := &counter{}
	h := store.Wrap(write, http.HandlerFunc(next.ServeHTTP))
	ctx, cancel := context.WithCancel(t.Context())
	r := first.request()
	r = r.WithContext(access.NewContext(ctx, access.Principal{Tenant: tenant.Tenant{ID: "acme"}}))
	gone := store.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cancel(); next.ServeHTTP(w, r) }))
	gone.ServeHTTP(httptest.NewRecorder(), r)
	if w := first.do(h); next.calls != 1 || w.Header().Get(idempotency.Replayed) != "true" {
		t.Errorf("%d calls, %d", next.calls, w.Code)
	}
}

func TestEightAtOnceAreOne(t *testing.T) {
	store, _ := open(t, idempotency.Options{})
	next := &counter{}
	h := store.Wrap(write, next)
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

func TestAcceptedTurnsAreKnown(t *testing.T) {
	at := time.Date(2026, 1, 2, 23, 59, 0, 0, time.UTC)
	store, redis := open(t, idempotency.Options{Now: func() time.Time { return at }})
	ines, ben := memory.Scope{Tenant: "acme", User: "ines"}, memory.Scope{Tenant: "acme", User: "ben"}
	knows := func(s memory.Scope, id string, want bool) {
		t.Helper()
		if got, err := store.Knows(t.Context(), s, idempotency.Turn, id); err != nil || got != want {
			t.Errorf("%v knows %s: %t, %v", s, id, got, err)
		}
	}
	if err := store.Note(t.Context(), ines, idempotency.Turn, "t1", "t2"); err != nil {
		t.Fatal(err)
	}
	at = at.Add(23 * time.Hour)
	knows(ines, "t1", true)
	knows(ines, "t3", false)
	knows(ben, "t1", false)
	if got, err := store.Knows(t.Context(), ines, idempotency.Session, "t1"); err != nil || got {
		t.Errorf("a turn is taken for a session: %v", err)
	}
	if err := errors.Join(store.Note(t.Context(), ines, idempotency.Turn, "t3"), store.Forget(t.Context(), ines)); err != nil {
		t.Fatal(err)
	}
	knows(ines, "t1", false)
	knows(ines, "t3", false)
	if err := store.Note(t.Context(), ines, idempotency.Turn, "t1"); err != nil {
		t.Fatal(err)
	}
	redis.FastForward(2 * idempotency.DefaultKeep)
	knows(ines, "t1", false)
}

// An id that was given to other words is told from a turn that is put in again, over days, and by user; a look that fails is an error.
func TestTurnsWhoseIDWasUsedAreFound(t *testing.T) {
	at := time.Date(2026, 1, 2, 23, 59, 0, 0, time.UTC)
	store, redis := open(t, idempotency.Options{Now: func() time.Time { return at }})
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	turn := func(id, text string) memory.Turn { return memory.Turn{ID: id, Text: text} }
	if err := store.NoteTurns(t.Context(), ines, "s", []memory.Turn{turn("t1", "one"), turn("t2", "two")}); err != nil {
		t.Fatal(err)
	}
	at = at.Add(2 * time.Minute) // another day
	reused := func(scope memory.Scope, session string, want int, turns ...memory.Turn) {
		t.Helper()
		if got, err := store.Reused(t.Context(), scope, session, turns); err != nil || got != want {
			t.Errorf("%v in %s: %d, %v, want %d", turns, session, got, err, want)
		}
	}
	reused(ines, "s", -1, turn("t1", "one"), turn("t2", "two"), turn("t3", "three"))
	reused(ines, "s", 1, turn("t1", "one"), turn("t2", "other"))
	reused(ines, "s2", 0, turn("t1", "one"))
	reused(memory.Scope{Tenant: "acme", User: "ben"}, "s", -1, turn("t1", "other"))
	if known, err := store.Knows(t.Context(), ines, idempotency.Session, "s"); err != nil || !known {
		t.Errorf("the session is known: %t, %v", known, err)
	}
	if err := store.Forget(t.Context(), ines); err != nil {
		t.Fatal(err)
	}
	reused(ines, "s", -1, turn("t1", "other"))
	redis.Close()
	if _, err := store.Reused(t.Context(), ines, "s", []memory.Turn{turn("t1", "one")}); err == nil {
		t.Error("without Redis it says that it knows")
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
	store, redis := open(t, idempotency.Options{})
	ines := memory.Scope{Tenant: first.tenant, User: "ines"}
	next := &counter{}
	h := store.Wrap(write, next)
	about(h, "ines")
	other := first
	other.key = "twice"
	r := other.request()
	r.SetPathValue("user", "ben")
	h.ServeHTTP(httptest.NewRecorder(), r)
	before := redis.Dump()
	if err := store.Forget(t.Context(), ines); err != nil {
		t.Fatal(err)
	}
	if after := redis.Dump(); len(after) >= len(before) {
		t.Errorf("Redis holds as much as before: %s", after)
	}
	if w := about(h, "ines"); w.Code != http.StatusGone || next.calls != 2 || !strings.HasPrefix(w.Body.String(), idempotency.Header) {
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
	store, _ := open(t, idempotency.Options{})
	ines := memory.Scope{Tenant: first.tenant, User: "ines"}
	next := &counter{}
	h := store.Wrap(write, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := store.Forget(r.Context(), ines); err != nil {
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

// lateAnswer has the answer to the first script come too late.
type lateAnswer struct{ goredis.Hook }

func (h *lateAnswer) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	first := true
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil && first {
			first = false
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		return err
	}
}

func (h *lateAnswer) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *lateAnswer) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// A Redis that took the claim, and whose answer did not come in time, leaves nothing behind that refuses the request made again.
func TestAClaimWhoseAnswerIsLateIsGivenBack(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(&lateAnswer{})
	store, scope := idempotency.New(client, idempotency.Options{}), idempotency.Scope{Tenant: "acme"}
	var p door.Problem
	if _, _, err := store.Begin(t.Context(), scope, "k", nil); !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable {
		t.Errorf("got %v, want 503", err)
	}
	if _, claim, err := store.Begin(t.Context(), scope, "k", nil); err != nil || claim == nil {
		t.Errorf("the request made again: %v", err)
	}
}

// breaking is a connection that ends with the first answer that says "claimed".
type breaking struct {
	net.Conn
	broke *atomic.Bool
}

func (c breaking) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(p[:n], []byte("claimed")) && c.broke.CompareAndSwap(false, true) {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// A connection that breaks after the claim was taken has the client claim again, which is no other request.
func TestAClaimThatIsMadeAgainIsTheSame(t *testing.T) {
	var broke atomic.Bool
	client := goredis.NewClient(&goredis.Options{
		Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return breaking{conn, &broke}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	store, scope := idempotency.New(client, idempotency.Options{}), idempotency.Scope{Tenant: "acme"}
	if _, claim, err := store.Begin(t.Context(), scope, "k", nil); err != nil || claim == nil || !broke.Load() {
		t.Errorf("got %v; the connection broke: %t", err, broke.Load())
	}
	var p door.Problem
	if _, _, err := store.Begin(t.Context(), scope, "k", nil); !errors.As(err, &p) || p.Status != http.StatusConflict {
		t.Errorf("another request meanwhile: %v, want 409", err)
	}
}
