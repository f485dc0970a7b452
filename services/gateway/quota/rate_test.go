package quota_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/alicebob/miniredis/v2"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/quota"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/platform/config"
	store "github.com/mneme-memory/mneme/shared/store/quota"
)

// requests makes n requests and returns how many were let through, and the last allowance.
func (r *replica) requests(t *testing.T, p access.Principal, n int) (passed int, last problem.Allowance) {
	t.Helper()
	for range n {
		a, err := r.Request(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if a.RetryAfter == 0 {
			passed++
		}
		last = a
	}
	return passed, last
}

func TestRequestsOfAKeyAndOfItsTenant(t *testing.T) {
	r := start(t, quota.Limits{RequestsPerSecond: 10, TenantRequestsPerSecond: 15})
	passed, a := r.requests(t, by("acme", "k1"), 1)
	want := problem.Allowance{Limit: 10, Remaining: 9, Reset: 100 * time.Millisecond, Quota: a.Quota}
	if passed != 1 || a != want {
		t.Errorf("the first: %d, %+v, want %+v", passed, a, want)
	}
	passed, a = r.requests(t, by("acme", "k1"), 20)
	if passed != 9 || a.RetryAfter != 100*time.Millisecond || a.Remaining != 0 || a.Reset != time.Second ||
		!strings.Contains(a.Quota, "API key") {
		t.Errorf("a key over its limit: %d passed, %+v", passed, a)
	}
	// A refused request took nothing from the tenant's limit.
	passed, a = r.requests(t, by("acme", "k2"), 20)
	if passed != 5 || a.Limit != 15 || !strings.Contains(a.Quota, "tenant") {
		t.Errorf("another key of the tenant: %d passed, %+v", passed, a)
	}
	if passed, _ = r.requests(t, by("globex", "k1"), 20); passed != 10 {
		t.Errorf("another tenant: %d passed", passed)
	}
	if n := r.counted(t, "mneme.gateway.limited", "acme"); n != 11+15 {
		t.Errorf("%d refused calls are counted", n)
	}
	r.advance(200 * time.Millisecond)
	if passed, _ = r.requests(t, by("acme", "k1"), 20); passed != 2 {
		t.Errorf("after a fifth of a second %d passed", passed)
	}
	r.advance(time.Hour)
	if passed, _ = r.requests(t, by("acme", "k1"), 20); passed != 10 {
		t.Errorf("after an hour %d passed", passed)
	}
}

func TestWithoutLimits(t *testing.T) {
	r := start(t, quota.Limits{})
	r.server.SetError("nobody asks")
	passed, a := r.requests(t, by("acme", "k"), 100)
	if passed != 100 || a != (problem.Allowance{}) {
		t.Errorf("%d passed, %+v", passed, a)
	}
	release, err := r.Streams.Acquire(t.Context(), by("acme", "k"))
	if err != nil || r.Turns(t.Context(), by("acme", "k"), 1e6) != nil {
		t.Errorf("streams: %v", err)
	}
	release()
}

func TestLimitsAreExactUnderConcurrency(t *testing.T) {
	for _, limit := range []int{7, 30, 50} {
		one := start(t, quota.Limits{RequestsPerSecond: limit, TenantRequestsPerSecond: 2*limit + 1, Fail: quota.FailClosed})
		replicas := []*replica{one, join(t, one.server, one.clock, quota.Limits{
			RequestsPerSecond: limit, TenantRequestsPerSecond: 2*limit + 1, Fail: quota.FailClosed,
		})}
		var passed [3]atomic.Int64
		var all sync.WaitGroup
		for n := range 12 * limit {
			all.Go(func() {
				k := n % 3
				a, err := replicas[n%2].Request(t.Context(), by("acme", fmt.Sprint(k)))
				if err != nil {
					t.Error(err)
				} else if a.RetryAfter == 0 {
					passed[k].Add(1)
				}
			})
		}
		all.Wait()
		sum := int64(0)
		for k := range passed {
			if n := passed[k].Load(); n > int64(limit) {
				t.Errorf("limit %d: %d requests of key %d passed", limit, n, k)
			}
			sum += passed[k].Load()
		}
		if sum != int64(2*limit+1) {
			t.Errorf("limit %d: %d requests of the tenant passed, want %d", limit, sum, 2*limit+1)
		}
	}
}

func TestNoIntervalHasMoreThanItsLimit(t *testing.T) {
	server := miniredis.RunT(t)
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(rt, "limit")
		server.FlushAll()
		now := noon
		r := open(t, server.Addr(), quota.Limits{RequestsPerSecond: limit}, quota.Options{Timeout: 30 * time.Second})
		var passed []time.Time
		for _, pause := range rapid.SliceOfN(rapid.IntRange(0, 300_000), 1, 60).Draw(rt, "pauses in µs") {
			now = now.Add(time.Duration(pause) * time.Microsecond)
			server.SetTime(now)
			a, err := r.Request(t.Context(), by("acme", "k"))
			if err != nil {
				rt.Fatal(err)
			}
			if a.RetryAfter == 0 {
				passed = append(passed, now)
				continue
			}
			server.SetTime(now.Add(a.RetryAfter))
			if a, err := r.Request(t.Context(), by("acme", "k")); err != nil || a.RetryAfter != 0 {
				rt.Fatalf("not let through after the time to wait: %+v, %v", a, err)
			}
			now = now.Add(a.RetryAfter)
			passed = append(passed, now)
		}
		for i, first := range passed {
			for j := i; j < len(passed); j++ {
				most := limit + int(passed[j].Sub(first)/(time.Second/time.Duration(limit))) + 1
				if j-i+1 > most {
					rt.Fatalf("%d passed within %s, want at most %d", j-i+1, passed[j].Sub(first), most)
				}
			}
		}
	})
}

func TestTurns(t *testing.T) {
	r := start(t, quota.Limits{TurnsPerMinute: 60})
	ask := func(n int) problem.Problem { return problemOf(t, r.Turns(t.Context(), by("acme", "k"), n)) }
	if p := ask(50); p.Status != 0 {
		t.Errorf("within the limit: %+v", p)
	}
	p := ask(20)
	if p.Status != http.StatusTooManyRequests || p.RetryAfter != 10*time.Second ||
		!strings.Contains(p.Detail, "turns per minute") {
		t.Errorf("over it: %+v", p)
	}
	if p := ask(10); p.Status != 0 {
		t.Errorf("what was refused took something: %+v", p)
	}
	r.advance(time.Minute)
	if p := ask(61); p.Status != http.StatusRequestEntityTooLarge || p.RetryAfter != 0 ||
		!strings.Contains(p.Detail, "at most 60") {
		t.Errorf("more than a minute's: %+v", p)
	}
	if p := ask(60); p.Status != 0 {
		t.Errorf("all of a minute's: %+v", p)
	}
	if p := ask(1); p.RetryAfter != time.Second || p.Allowance.Limit != 60 || p.Allowance.Remaining != 0 {
		t.Errorf("one more: %+v", p)
	}
	if p := ask(0); p.Status != 0 {
		t.Errorf("no turns: %+v", p)
	}
}

func TestRedisGoesAwayAndComesBack(t *testing.T) {
	for _, fail := range []string{quota.FailOpen, quota.FailClosed} {
		t.Run(fail, func(t *testing.T) {
			r := start(t, quota.Limits{RequestsPerSecond: 2, TurnsPerMinute: 2, Fail: fail})
			status, outcome := http.StatusOK, "served"
			if fail == quota.FailClosed {
				status, outcome = http.StatusServiceUnavailable, "refused"
			}
			expect := func(when string, status int, told string) {
				t.Helper()
				w := call(t, r.Quota, "acme/k")
				if got := w.Header().Get(problem.RateLimitStatus); w.Code != status || got != told {
					t.Errorf("%s: answered %d, %s %q; want %d, %q", when, w.Code, problem.RateLimitStatus, got, status, told)
				}
			}
			expect("at first", http.StatusOK, "")
			r.server.Close()
			for range 5 {
				expect("away", status, "unavailable")
			}
			if p := problemOf(t, r.Turns(t.Context(), by("acme", "k"), 5)); p.Status != 0 && p.Status != status {
				t.Errorf("turns: %+v", p)
			}
			if n := r.log.count("Redis is unavailable"); n != 1 {
				t.Errorf("the log says %d times that Redis is away", n)
			}
			for range 24 { // it is asked again each second, and always away
				r.clock.mu.Lock()
				r.clock.now = r.clock.now.Add(500 * time.Millisecond)
				r.clock.mu.Unlock()
				expect("still away", status, "unavailable")
			}
			if n := r.log.count("Redis is unavailable"); n != 2 {
				t.Errorf("in 12 s the log says %d times that Redis is away, want 2", n)
			}
			if n := r.counted(t, "mneme.gateway.limits_unavailable", outcome); n != 30 {
				t.Errorf("%d calls are counted as %s, want 30", n, outcome)
			}
			if err := r.server.Restart(); err != nil {
				t.Fatal(err)
			}
			expect("back, and not yet asked", status, "unavailable")
			r.advance(store.DefaultPause)
			expect("back", http.StatusOK, "")
			expect("back", http.StatusOK, "")
			expect("over the limit", http.StatusTooManyRequests, "")
			if n := r.log.count("Redis is available again"); n != 1 {
				t.Errorf("the log says %d times that Redis is back", n)
			}
		})
	}
}

func TestACallThatEndsSaysNothingAboutRedis(t *testing.T) {
	r := start(t, quota.Limits{RequestsPerSecond: 2, Fail: quota.FailClosed})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Request(ctx, by("acme", "k")); problemOf(t, err).Status != http.StatusServiceUnavailable {
		t.Errorf("got %v", err)
	}
	if a, err := r.Request(t.Context(), by("acme", "k")); err != nil || a.Unavailable || r.log.count("away") != 0 {
		t.Errorf("the next call: %+v, %v", a, err)
	}
}

// call makes a request through the guard.
func call(t *testing.T, l guard.Limiter, key string) *httptest.ResponseRecorder {
	t.Helper()
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer "+key)
	guarded(l).Wrap(func(w http.ResponseWriter, _ *http.Request, p problem.Problem) {
		w.Header().Set("Retry-After", problem.Seconds(p.RetryAfter))
		w.WriteHeader(p.Status)
	}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w
}

func TestHeaders(t *testing.T) {
	r := start(t, quota.Limits{RequestsPerSecond: 1})
	for _, want := range []map[string]string{
		{"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1", "Retry-After": ""},
		{"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1", "Retry-After": "1"},
	} {
		w := call(t, r.Quota, "acme/k")
		for name, value := range want {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
	}
}

func TestLimitsThatCannotBeUsedAreNamed(t *testing.T) {
	l, err := config.Load[quota.Limits](nil)
	want := quota.Limits{
		RequestsPerSecond: 50, TenantRequestsPerSecond: 500, TurnsPerMinute: 6000, Streams: 10, TenantStreams: 200,
		Fail: quota.FailOpen,
	}
	if err != nil || l != want {
		t.Errorf("the defaults are %+v, %v", l, err)
	}
	for _, c := range []struct{ variable, value string }{
		{"MNEME_GATEWAY_REQUESTS_PER_SECOND", "-1"}, {"MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND", "100001"},
		{"MNEME_GATEWAY_TURNS_PER_MINUTE", "many"}, {"MNEME_GATEWAY_STREAMS", "-2"}, {"MNEME_GATEWAY_TENANT_STREAMS", "-3"},
		{"MNEME_GATEWAY_LIMITS_FAIL", "ajar"},
	} {
		if _, err := config.Load[quota.Limits](map[string]string{c.variable: c.value}); err == nil ||
			!strings.Contains(err.Error(), c.variable) {
			t.Errorf("%s=%s: got %v", c.variable, c.value, err)
		}
	}
}
