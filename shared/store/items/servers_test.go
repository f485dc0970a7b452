package items

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/test/redistest"
)

// TestOnEveryRedis runs every script on each kind of test server.
func TestOnEveryRedis(t *testing.T) { redistest.Each(t, everything) }

func everything(t *testing.T, addr string) {
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	k := &kept{t: t, log: &lockedBuffer{}}
	k.Store = New(client, Options{Sweep: 10 * time.Millisecond, Timeout: time.Minute,
		Log: slog.New(slog.NewTextHandler(k.log, nil))})
	boundedItems(k)
	realItems(k)
	realSessions(k)
	for _, scope := range []memory.Scope{ines, ben, beta} {
		if err := k.Erase(t.Context(), scope, "e1"); err != nil {
			t.Fatal(err)
		}
	}
	left, err := client.Keys(t.Context(), "*").Result()
	// a record of the erasure
	left = slices.DeleteFunc(left, func(key string) bool { return strings.Contains(key, ":erased:") })
	if err != nil || !slices.Equal(left, []string{k.tenantsKey()}) {
		t.Errorf("left is %v, %v", left, err)
	}
	if log := k.log.String(); log != "" {
		t.Errorf("logged %s", log)
	}
}

func realItems(k *kept) {
	t := k.t
	before := time.Now().Add(-time.Minute)
	k.put(ines, "a.b/k", `{"text":"tea in Porto","n":1.50}`)
	first, ok, err := k.Get(t.Context(), ines, named("a.b/k"))
	if err != nil || !ok || string(first.Value) != `{"text":"tea in Porto","n":1.50}` || first.CreatedAt.Before(before) {
		t.Fatal(first, ok, err)
	}
	large := `{"a":"` + strings.Repeat("x", MaxObject-8) + `"}`
	k.put(ines, "a/large", large)
	k.put(ines, "a.b/k", `{"text":"tea"}`)
	again, _, err := k.Refresh(t.Context(), ines, named("a.b/k"))
	if err != nil || !again.CreatedAt.Equal(first.CreatedAt) || !again.UpdatedAt.After(first.UpdatedAt) ||
		k.value(ines, "a/large") != large {
		t.Error(again, err)
	}
	if got := k.search(ines, Search{Prefix: Namespace{"a"}}) +
		k.search(ines, Search{Query: "tea"}); got != "k, largek 1.00" {
		t.Errorf("found %s", got)
	}
	if got := k.namespaces(ines, Listing{}); got != "[[a] [a b]]" {
		t.Errorf("namespaces are %s", got)
	}
	k.put(ines, "c/short", `{}`, time.Second)
	k.put(ines, "c/refreshed", `{}`, time.Hour)
	if _, ok, err := k.Refresh(t.Context(), ines, named("c/refreshed")); !ok || err != nil {
		t.Error(ok, err)
	}
	eventually(t.Context(), t, func() bool { return k.search(ines, Search{Prefix: Namespace{"c"}}) == "refreshed" })
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })
	keys := k.itemKeys(ines.Tenant, redisstore.Hash(ines.User))
	eventually(t.Context(), t, func() bool { return k.Store.Redis.HLen(t.Context(), keys[2]).Val() == 3 })
	stop()
	running.Wait()
	for _, name := range []string{"c/refreshed", "a/large"} {
		if err := k.Delete(t.Context(), ines, named(name)); err != nil || k.value(ines, name) != "" {
			t.Error(err)
		}
	}
	if n := k.Store.Redis.Exists(t.Context(), keys[1], keys[3]).Val(); n != 0 {
		t.Error("something is to expire")
	}
}

func realSessions(k *kept) {
	t := k.t
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 10 {
				k.append(ines, "s", fmt.Sprint(w, ".", i), fmt.Sprintf(`{"w":%d,"i":%d}`, w, i), `{}`)
			}
		})
	}
	all.Wait()
	if n := k.append(ines, "s", "0.0", `{}`); n < 2 || n > 160 {
		t.Errorf("a call that comes again is answered %d", n)
	}
	if items, _, err := k.Latest(t.Context(), ines, "s", 1000, 0); err != nil || len(items) != 160 {
		t.Errorf("%d items, %v", len(items), err)
	}
	for range 2 {
		if got := k.pop(ines, "s", "p"); got != `{}` {
			t.Errorf("taken off %s", got)
		}
	}
	thousand := make([]Object, MaxAppended)
	for i := range thousand {
		thousand[i] = Object(fmt.Sprintf(`{"n":%d}`, i))
	}
	for i := range 9 {
		if _, err := k.Append(t.Context(), ines, k.token(ines), Call{"s", fmt.Sprint("t", i)}, thousand); err != nil {
			t.Fatal(err)
		}
	}
	_, err := k.Append(t.Context(), ines, k.token(ines), Call{"s", "more"}, thousand)
	refused(t, err, ErrManyItems, "more than 10000 items")
	if got := k.latest(ines, "s", 2); got != `[{"n":998} {"n":999}]` {
		t.Errorf("the latest are %s", got)
	}
	if err := k.Clear(t.Context(), ines, "s"); err != nil || k.latest(ines, "s", 2) != "[]" ||
		k.pop(ines, "s", "q") != "" {
		t.Error(err)
	}
	k.append(ines, "s", "last", `{}`)
}
