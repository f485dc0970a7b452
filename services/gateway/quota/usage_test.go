package quota_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	goredis "github.com/redis/go-redis/v9"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/quota"
	"github.com/mneme-memory/mneme/shared/access"
	store "github.com/mneme-memory/mneme/shared/store/quota"
	"github.com/mneme-memory/mneme/shared/store/usage"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// used returns the usage of a tenant on a day.
func used(t *testing.T, q *quota.Quota, tenantID, day string) map[string]int64 {
	t.Helper()
	u, err := q.Usage(access.NewContext(t.Context(), by(tenantID, "admin")), day)
	if err != nil {
		t.Fatalf("usage of %q: %v", day, err)
	}
	return u
}

func usageOf(requests, turns, recalls, answers int64) map[string]int64 {
	return map[string]int64{
		usage.Requests: requests, usage.Turns: turns, usage.Recalls: recalls, usage.Answers: answers, usage.Tokens: 0,
	}
}

func (r *replica) expectUsage(t *testing.T, tenantID, day string, want map[string]int64) {
	t.Helper()
	got := used(t, r.Quota, tenantID, day)
	delete(got, quota.Memories) // of today only
	delete(got, quota.Items)
	if !maps.Equal(got, want) {
		t.Errorf("%s, %q: got %v, want %v", tenantID, day, got, want)
	}
}

func TestUsageIsCountedByDayAndTenant(t *testing.T) {
	limits := quota.Limits{RequestsPerSecond: 5}
	r := start(t, limits)
	other := join(t, r.server, r.clock, limits)
	if passed, _ := r.requests(t, by("acme", "k"), 8); passed != 5 {
		t.Fatalf("%d passed", passed)
	}
	r.Count(t.Context(), by("acme", "k"), usage.Turns, 7)
	other.Count(t.Context(), by("acme", "k2"), usage.Turns, 3)
	other.Count(t.Context(), by("globex", "k"), usage.Answers, 1)
	other.expectUsage(t, "acme", "", usageOf(0, 3, 0, 0)) // the other replica has not written yet
	r.expectUsage(t, "acme", "2026-11-25", usageOf(5, 10, 0, 0))
	r.expectUsage(t, "globex", "2026-11-25", usageOf(0, 0, 0, 1))
	r.advance(12 * time.Hour)
	r.Count(t.Context(), by("acme", "k"), usage.Recalls, 1)
	r.expectUsage(t, "acme", "", usageOf(0, 0, 1, 0))
	r.expectUsage(t, "acme", "2026-11-26", usageOf(0, 0, 1, 0))
	r.expectUsage(t, "acme", "2026-11-25", usageOf(5, 10, 0, 0))
	r.expectUsage(t, "acme", "2020-01-01", usageOf(0, 0, 0, 0))
	r.advance(399 * 24 * time.Hour)
	r.expectUsage(t, "acme", "2026-11-25", usageOf(5, 10, 0, 0))
	r.advance(2 * 24 * time.Hour)
	r.expectUsage(t, "acme", "2026-11-25", usageOf(0, 0, 0, 0))
}

func TestUsageIsForAdministratorsOfTheTenant(t *testing.T) {
	r := start(t, quota.Limits{})
	p := by("acme", "k")
	p.Scopes = []access.Scope{access.Ingest, access.Recall, access.Read, access.Erase}
	for name, c := range map[string]struct {
		ctx  context.Context
		want connect.Code
	}{
		"nobody":        {t.Context(), connect.CodeUnauthenticated},
		"another scope": {access.NewContext(t.Context(), p), connect.CodePermissionDenied},
	} {
		if _, err := r.Usage(c.ctx, ""); connect.CodeOf(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, day := range []string{"yesterday", "2026-13-01", "2026-1-1", "../x", "2026-11-25T00:00:00Z"} {
		_, err := r.Usage(access.NewContext(t.Context(), by("acme", "k")), day)
		if p := problemOf(t, err); p.Status != http.StatusBadRequest || p.Field != "day" {
			t.Errorf("%q: got %v", day, err)
		}
	}
}

func TestUsageIsWrittenInTheBackgroundAndAtTheEnd(t *testing.T) {
	r := start(t, quota.Limits{})
	q := open(t, r.server.Addr(), quota.Limits{},
		quota.Options{Now: r.clock.Now, Timeout: 30 * time.Second, Flush: time.Millisecond})
	stop := running(t, q)
	q.Count(t.Context(), by("acme", "k"), usage.Turns, 2)
	await(t, func() bool { return used(t, r.Quota, "acme", "")[usage.Turns] == 2 })
	stop()
	slow := open(t, r.server.Addr(), quota.Limits{},
		quota.Options{Now: r.clock.Now, Timeout: 30 * time.Second, Flush: time.Hour})
	stop = running(t, slow)
	slow.Count(t.Context(), by("acme", "k"), usage.Turns, 3)
	stop()
	r.expectUsage(t, "acme", "", usageOf(0, 5, 0, 0))
}

func TestUsageWaitsForRedisAndCountsOnce(t *testing.T) {
	r := start(t, quota.Limits{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				r.Count(t.Context(), by("acme", "k"), usage.Turns, 1)
			}
		})
	}
	all.Wait()
	r.server.Close()
	admin := access.NewContext(t.Context(), by("acme", "k"))
	for range 3 { // each tries to write
		if _, err := r.Usage(admin, ""); problemOf(t, err).Status != http.StatusServiceUnavailable {
			t.Errorf("away: got %v", err)
		}
		r.Count(t.Context(), by("acme", "k"), usage.Turns, 1)
		r.clock.mu.Lock()
		r.clock.now = r.clock.now.Add(store.DefaultPause)
		r.clock.mu.Unlock()
	}
	if err := r.server.Restart(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.expectUsage(t, "acme", "", usageOf(0, 1003, 0, 0))
	}
}

// An answer that is lost after the script has run must not have it counted twice.
func TestABatchWithoutAnAnswerIsNotCountedTwice(t *testing.T) {
	r := start(t, quota.Limits{})
	r.Count(t.Context(), by("acme", "k"), usage.Turns, 5)
	cut := cutOff(t, r.server.Addr())
	q := open(t, cut.addr(), quota.Limits{}, quota.Options{Now: r.clock.Now, Timeout: 30 * time.Second})
	q.Count(t.Context(), by("acme", "k"), usage.Turns, 2)
	admin := access.NewContext(t.Context(), by("acme", "k"))
	if _, err := q.Usage(admin, ""); err != nil { // the script is known now
		t.Fatal(err)
	}
	q.Count(t.Context(), by("acme", "k"), usage.Turns, 3)
	cut.answers(false)
	if _, err := q.Usage(admin, ""); err == nil {
		t.Fatal("there was an answer")
	}
	await(t, func() bool { return r.server.HGet("mneme:usage:{acme}:2026-11-25", usage.Turns) == "5" })
	cut.answers(true)
	r.advance(store.DefaultPause)
	for range 2 {
		if got := used(t, q, "acme", "")[usage.Turns]; got != 5 {
			t.Errorf("%d turns, want 5", got)
		}
	}
	r.expectUsage(t, "acme", "", usageOf(0, 10, 0, 0))
}

func TestUsageThatCannotBeWrittenAtTheEndIsTold(t *testing.T) {
	r := start(t, quota.Limits{})
	stop := running(t, r.Quota)
	r.server.Close()
	r.Count(t.Context(), by("acme", "k"), usage.Turns, 4)
	stop()
	if r.log.count("lost") != 1 || r.counted(t, "mneme.usage.lost", "") != 4 {
		t.Error("nobody was told")
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	r := start(t, quota.Limits{})
	r.server.Close()
	for n := range 20_000 {
		r.clock.mu.Lock()
		r.clock.now = noon.AddDate(0, 0, n)
		r.clock.mu.Unlock()
		r.Count(t.Context(), by("acme", "k"), usage.Turns, 1)
	}
	if n := r.counted(t, "mneme.usage.lost", ""); n != 10_000 {
		t.Errorf("%d counts were dropped", n)
	}
}

func TestTokensOfADay(t *testing.T) {
	r := start(t, quota.Limits{TokensPerDay: 100, Fail: quota.FailClosed})
	client := goredis.NewClient(&goredis.Options{Addr: r.server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	spent, err := usage.New(client, usage.Options{Now: r.clock.Now, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	use := func(n int64) { // another service does
		spent.Count(t.Context(), "acme", usage.Tokens, n)
		if _, err := spent.Of(t.Context(), "acme", ""); err != nil {
			t.Fatal(err)
		}
	}
	services := r.services(t)
	calls := func(p access.Principal) map[string]error {
		ctx := access.NewContext(t.Context(), p)
		recall := &mnemev1.RecallRequest{UserId: "ana"}
		_, recalled := services.Recall.Recall(ctx, connect.NewRequest(recall))
		_, answered := services.Recall.Answer(ctx, connect.NewRequest(&mnemev1.AnswerRequest{Recall: recall}))
		return map[string]error{"turns": r.Turns(ctx, p, 1), "recall": recalled, "answer": answered}
	}
	expect := func(p access.Principal, status int) {
		t.Helper()
		for what, err := range calls(p) {
			got := problemOf(t, err)
			if got.Status != status || status == http.StatusTooManyRequests &&
				got.RetryAfter.Round(time.Second) != 12*time.Hour {
				t.Errorf("%s: got %+v, want %d", what, got, status)
			}
		}
	}
	use(99)
	expect(by("acme", "k"), 0)
	use(1)
	expect(by("acme", "k"), http.StatusTooManyRequests)
	expect(by("globex", "k"), 0)
	if got := used(t, r.Quota, "acme", "")[usage.Tokens]; got != 100 {
		t.Errorf("%d tokens are told", got)
	}
	r.advance(12 * time.Hour)
	expect(by("acme", "k"), 0)
	r.server.Close()
	expect(by("acme", "k"), http.StatusServiceUnavailable)
}

func TestStoredMemories(t *testing.T) {
	r := start(t, quota.Limits{Memories: 10})
	stored, asked, away := int64(9), 0, error(nil)
	r.Stored = func(_ context.Context, of tenant.Tenant) (int64, error) {
		if asked++; of.ID != "acme" {
			t.Errorf("asked of %s", of.ID)
		}
		return stored, away
	}
	services, p := r.services(t), by("acme", "k")
	ctx := access.NewContext(t.Context(), p)
	expect := func(status int) {
		t.Helper()
		_, added := services.Memories.AddMemory(ctx, connect.NewRequest(&mnemev1.AddMemoryRequest{UserId: "ana"}))
		for what, err := range map[string]error{"turns": r.Turns(ctx, p, 1), "add": added} {
			if got := problemOf(t, err).Status; got != status {
				t.Errorf("%s: got %d, want %d", what, got, status)
			}
		}
		recall := connect.NewRequest(&mnemev1.RecallRequest{UserId: "ana"})
		if _, err := services.Recall.Recall(ctx, recall); err != nil {
			t.Errorf("a recall: %v", err)
		}
	}
	expect(0)
	stored = 10
	expect(0) // the number is gone by for a while, by other replicas, too
	if asked != 1 || used(t, r.Quota, "acme", "")[quota.Memories] != 9 || asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	r.advance(10 * time.Second)
	expect(http.StatusTooManyRequests)
	stored = 3
	r.advance(10 * time.Second)
	expect(0)
	away = errors.New("the bank is away")
	r.advance(10 * time.Second)
	expect(0)                                        // open, as it is set
	for _, day := range []string{"", "2026-11-24"} { // today they cannot be told, and a day before they were not counted
		if _, ok := used(t, r.Quota, "acme", day)[quota.Memories]; ok {
			t.Errorf("%q has memories", day)
		}
	}
}

func TestItemsKeptWordForWord(t *testing.T) {
	r := start(t, quota.Limits{})
	away := error(nil)
	r.Kept = func(_ context.Context, tenantID string) (int64, error) { return int64(len(tenantID)), away }
	if got := used(t, r.Quota, "globex", "")[quota.Items]; got != 6 {
		t.Errorf("%d items are told", got)
	}
	away = errors.New("Redis is away")
	for _, day := range []string{"", "2026-11-24"} {
		got := used(t, r.Quota, "globex", day)
		if _, ok := got[quota.Items]; ok || day == "" && len(got) != 6 {
			t.Errorf("%q has %v", day, got)
		}
	}
	p := problemOf(t, r.OverItems(access.NewContext(t.Context(), by("acme", "k"))))
	if p.Status != http.StatusTooManyRequests || p.Code != problem.CodeOverQuota || p.RetryAfter != time.Hour {
		t.Errorf("got %+v", p)
	}
	if n := r.counted(t, "mneme.gateway.limited", "items kept word for word of a tenant"); n != 1 {
		t.Errorf("counted %d times", n)
	}
}

// recalling answers recalls, and refuses a recall without a user.
type recalling struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedMemoryServiceHandler
}

func (recalling) Recall(
	_ context.Context, req *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	if req.Msg.GetUserId() == "nobody" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("user_id: is nobody"))
	}
	return connect.NewResponse(&mnemev1.RecallResponse{}), nil
}

func (recalling) Answer(
	context.Context, *connect.Request[mnemev1.AnswerRequest],
) (*connect.Response[mnemev1.AnswerResponse], error) {
	return connect.NewResponse(&mnemev1.AnswerResponse{}), nil
}

func (recalling) AddMemory(
	context.Context, *connect.Request[mnemev1.AddMemoryRequest],
) (*connect.Response[mnemev1.AddMemoryResponse], error) {
	return connect.NewResponse(&mnemev1.AddMemoryResponse{}), nil
}

// services returns clients with calls that the quota counts and limits.
func (r *replica) services(t *testing.T) backend.Services {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(recalling{}))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(recalling{}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return backend.New(server.Client(), server.URL, server.URL, "secret-of-services", r.Counting())
}

func TestRecallsAndAnswersThatWereGivenAreCounted(t *testing.T) {
	r := start(t, quota.Limits{})
	services := r.services(t)
	ctx := access.NewContext(t.Context(), access.Principal{Tenant: tenant.Tenant{ID: "acme"},
		Scopes: []access.Scope{access.Recall}})
	for _, user := range []string{"ana", "ana", "nobody"} {
		_, err := services.Recall.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: user}))
		if (err != nil) != (user == "nobody") {
			t.Errorf("%s: %v", user, err)
		}
	}
	ask := &mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana"}}
	if _, err := services.Recall.Answer(ctx, connect.NewRequest(ask)); err != nil {
		t.Error(err)
	}
	if _, err := services.Recall.Recall(t.Context(),
		connect.NewRequest(&mnemev1.RecallRequest{UserId: "ana"})); err == nil {
		t.Error("a call by nobody passed")
	}
	r.expectUsage(t, "acme", "", usageOf(0, 0, 2, 1))
}
