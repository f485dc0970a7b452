package mem0state_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ines  = memory.Scope{Tenant: "acme", User: "ines"}
	ben   = memory.Scope{Tenant: "acme", User: "ben"}
)

type kept struct {
	*mem0state.Store
	t     *testing.T
	redis *miniredis.Miniredis
}

func open(t *testing.T) *kept {
	t.Helper()
	server := miniredis.RunT(t)
	k := over(t, server.Addr())
	k.redis = server
	return k
}

// over makes a store over a server.
func over(t *testing.T, addr string) *kept {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return &kept{Store: mem0state.New(client, mem0state.Options{Timeout: time.Minute}), t: t}
}

func TestOnEveryRedis(t *testing.T) {
	redistest.Each(t, func(t *testing.T, addr string) {
		k := over(t, addr)
		if err := errors.Join(k.fill(ines, "1", "0"), k.fill(ines, "2", "0"), k.Done(t.Context(), ines, "1")); err != nil {
			t.Fatal(err)
		}
		if e, ok, err := k.Event(t.Context(), "acme", "1"); !ok || err != nil || !e.Done || !e.At.Equal(start) {
			t.Errorf("the event is %+v, %v", e, err)
		}
		if r, err := k.LastRecall(t.Context(), ines); err != nil || r.ID != "2" {
			t.Errorf("the recall is %v, %v", r, err)
		}
		if request, ok, err := k.Export(t.Context(), "acme", "x1"); !ok || err != nil ||
			string(request) != `{"user_id":"ines"}` {
			t.Errorf("the export is %s, %v", request, err)
		}
		k.counts(ines, "e1", 7)
		if err := k.Erase(t.Context(), ines, "e1"); err != nil {
			t.Fatal(err)
		}
		k.counts(ines, "", 0)
		if err := k.fill(ines, "3", "0"); !errors.Is(err, redisstore.ErrErased) {
			t.Errorf("a request that began before: %v", err)
		}
	})
}

func (k *kept) token(scope memory.Scope) redisstore.Token {
	k.t.Helper()
	token, err := k.Token(k.t.Context(), scope)
	if err != nil {
		k.t.Fatal(err)
	}
	return token
}

// fill keeps one of everything: an event, a recall and an export.
func (k *kept) fill(scope memory.Scope, id string, token redisstore.Token) error {
	ctx := k.t.Context()
	e := mem0state.Event{ID: id, User: scope.User, Session: "s", Turns: 1, At: start}
	return errors.Join(k.Begin(ctx, scope, token, e),
		k.KeepRecall(ctx, scope, token, mem0state.Recall{ID: id, IDs: []string{"m1"}}),
		k.KeepExport(ctx, scope.Tenant, "x"+id, []string{scope.User}, []redisstore.Token{token},
			[]byte(`{"user_id":"`+scope.User+`"}`)))
}

func (k *kept) counts(scope memory.Scope, erasure string, want int) {
	k.t.Helper()
	if n, err := k.Count(k.t.Context(), scope, erasure); err != nil || n != want {
		k.t.Errorf("%d are kept of %s for the erasure %q, %v, want %d", n, scope.User, erasure, err, want)
	}
}

func TestErase(t *testing.T) {
	k := open(t)
	for _, scope := range []memory.Scope{ines, ben} {
		if err := errors.Join(k.fill(scope, scope.User+"-1", "0"), k.fill(scope, scope.User+"-2", "0")); err != nil {
			t.Fatal(err)
		}
	}
	k.counts(ines, "e1", 7)
	if err := k.Erase(t.Context(), ines, "e1"); err != nil {
		t.Fatal(err)
	}
	k.counts(ines, "", 0)
	k.counts(ben, "", 7)
	if dump := k.redis.Dump(); strings.Contains(dump, "ines") {
		t.Errorf("something is left: %s", dump)
	}
	if list, n, err := k.Users(t.Context(), memory.Scope{Tenant: "acme"}, 0, 10); err != nil || n != 1 ||
		list[0].ID != "ben" {
		t.Errorf("users are %v, %v", list, err)
	}
	if list, n, err := k.Events(t.Context(), memory.Scope{Tenant: "acme"}, 0, 10); err != nil || n != 2 || len(list) != 2 {
		t.Errorf("events are %v, %v", list, err)
	}
}

// Lists of users outlive events, and hold plain ids: each entry counts until an erasure removes it.
func TestEntriesInListsOfUsersCount(t *testing.T) {
	k := open(t)
	for _, list := range []string{"users:first", "users"} {
		k.counts(ines, "e-"+list, 0)
		if _, err := k.redis.ZAdd("mneme:mem0:{acme}:"+list, 0, "ines"); err != nil {
			t.Fatal(err)
		}
		k.counts(ines, "", 1)
		k.counts(ines, "e-"+list, 1)
		k.counts(ben, "", 0)
		if err := k.Erase(t.Context(), ines, "e-"+list); err != nil {
			t.Fatal(err)
		}
		k.counts(ines, "", 0)
	}
}

// After an erasure, the store refuses every write of a request from before it.
func TestARequestThatBeganBeforeTheErasureKeepsNothing(t *testing.T) {
	k := open(t)
	began, of, ctx := k.token(ines), k.token(ben), t.Context()
	if err := k.Erase(ctx, ines, "e1"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"an event": k.Begin(ctx, ines, began, mem0state.Event{ID: "1", User: "ines", At: start}),
		"a recall": k.KeepRecall(ctx, ines, began, mem0state.Recall{ID: "1"}),
		"an export": k.KeepExport(ctx, "acme", "1", []string{"ben", "ines"}, []redisstore.Token{of, began},
			[]byte(`{"of":"ines"}`)),
	} {
		if !errors.Is(err, redisstore.ErrErased) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := k.Done(ctx, ines, "1"); err != nil {
		t.Error(err)
	}
	k.counts(ines, "", 0)
	if dump := k.redis.Dump(); strings.Contains(dump, "ines") {
		t.Errorf("something is kept: %s", dump)
	}
}

func TestARepeatedErasureLeavesWhatCameAfterIt(t *testing.T) {
	k := open(t)
	if err := k.fill(ines, "1", k.token(ines)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := k.Erase(t.Context(), ines, "e1"); err != nil {
			t.Fatal(err)
		}
		if err := k.fill(ines, "2", k.token(ines)); err != nil {
			t.Fatal(err)
		}
	}
	k.counts(ines, "e1", 0)
	k.counts(ines, "", 5)
	if err := k.Erase(t.Context(), ines, "e2"); err != nil {
		t.Fatal(err)
	}
	k.counts(ines, "", 0)
}
