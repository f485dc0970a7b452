package items

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

func TestErase(t *testing.T) {
	k := open(t)
	for _, scope := range []memory.Scope{ines, ben, beta} {
		k.put(scope, "a/k", `{"text":"of `+scope.Tenant+scope.User+`"}`)
		k.put(scope, "a/short", `{"text":"of `+scope.Tenant+scope.User+`"}`, time.Hour)
		for _, session := range []string{"s", "t", "emptied"} {
			k.append(scope, session, "1", `{"text":"of `+scope.Tenant+scope.User+`"}`)
		}
		k.pop(scope, "emptied", "2") // its name stays known for a while
	}
	if err := k.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	if dump := k.redis.Dump(); strings.Contains(dump, "of acmeines") || !strings.Contains(dump, "of betaines") {
		t.Errorf("something is left, or too little: %s", dump)
	}
	for _, key := range k.redis.Keys() {
		if strings.Contains(key, "{acme}") && strings.Contains(key, redisstore.Hash("ines")) && key != k.FenceKey(ines) {
			t.Errorf("%s is left", key)
		}
	}
	if users, err := k.redis.ZMembers(k.Key("acme", "due")); err != nil ||
		!slices.Equal(users, []string{redisstore.Hash("ben")}) {
		t.Errorf("due are %v, %v", users, err)
	}
	for _, scope := range []memory.Scope{ben, beta} {
		if k.value(scope, "a/k") == "" || k.latest(scope, "t", 1) == "[]" {
			t.Errorf("%v is forgotten, too", scope)
		}
	}
	if got := k.append(ines, "s", "1", `{"a":1}`); got != 1 {
		t.Errorf("a new session has %d items", got)
	}
	if err := k.Erase(t.Context(), memory.Scope{Tenant: "acme", User: "nobody"}, ""); err != nil {
		t.Error(err)
	}
}

// left returns the number of ines's objects that an erasure must remove.
func (k *kept) left(erasure string) int {
	k.t.Helper()
	n, err := k.Count(k.t.Context(), ines, erasure)
	if err != nil {
		k.t.Fatal(err)
	}
	return n
}

// A request that began before the erasure writes nothing after it, whatever its kind.
func TestARequestThatBeganBeforeTheErasureWritesNothing(t *testing.T) {
	k := open(t)
	k.put(ines, "a/k", `{}`)
	k.append(ines, "s", "1", `{"n":1}`)
	began, other := k.token(ines), k.token(ben)
	if err := k.Erase(t.Context(), ines, "e1"); err != nil {
		t.Fatal(err)
	}
	put := Put{Name: named("a/late"), Value: object(t, `{}`)}
	for what, err := range map[string]error{
		"a put":     k.Put(t.Context(), ines, began, put),
		"an append": second(k.Append(t.Context(), ines, began, Call{"s", "2"}, []Object{put.Value})),
		"a pop":     third(k.Pop(t.Context(), ines, began, Call{"s", "3"})),
	} {
		if !errors.Is(err, redisstore.ErrErased) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := k.left(""); n != 0 {
		t.Errorf("%d are kept", n)
	}
	if err := k.Put(t.Context(), ben, other, put); err != nil {
		t.Errorf("another user's: %v", err)
	}
}

func second(_ int, err error) error { return err }

func third(_ Object, _ bool, err error) error { return err }

// Data written after an erasure stays, however often the same erasure repeats. Another erasure removes it.
func TestARepeatedErasureLeavesWhatCameAfterIt(t *testing.T) {
	k := open(t)
	k.put(ines, "a/before", `{}`)
	if n := k.left("e1"); n != 1 {
		t.Errorf("%d are to be erased", n)
	}
	for range 3 {
		if err := k.Erase(t.Context(), ines, "e1"); err != nil {
			t.Fatal(err)
		}
		k.put(ines, "a/after", `{}`)
	}
	if of, all := k.left("e1"), k.left(""); of != 0 || all != 1 || k.value(ines, "a/after") == "" ||
		k.value(ines, "a/before") != "" {
		t.Errorf("%d of the erasure are left, %d in all", of, all)
	}
	if err := k.Erase(t.Context(), ines, "e2"); err != nil || k.left("") != 0 {
		t.Errorf("%d are left by another erasure, %v", k.left(""), err)
	}
}

// meanwhile calls do once, after the commands that list the stored data.
type meanwhile struct {
	goredis.Hook
	do func()
}

func (m *meanwhile) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if do := m.do; do != nil && cmd.Name() == "zrange" {
			m.do = nil
			do()
		}
		return err
	}
}

func (m *meanwhile) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (m *meanwhile) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// An erasure also removes a session that begins during its listing. No later call would find the rest of it.
func TestASessionBegunDuringTheErasureIsErased(t *testing.T) {
	k := open(t)
	for i := range 3 {
		k.append(ines, fmt.Sprint("s", i), "1", `{"of":"acmeines"}`)
	}
	k.Redis.AddHook(&meanwhile{do: func() { k.append(ines, "late", "1", `{"of":"acmeines"}`) }})
	if err := k.Erase(t.Context(), ines, "e1"); err != nil {
		t.Fatal(err)
	}
	if dump := k.redis.Dump(); strings.Contains(dump, "acmeines") {
		t.Errorf("something is left: %s", dump)
	}
	k.counts(0)
}
