package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/store/window/redis"
	"github.com/mneme-memory/mneme/shared/store/window/windowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var limits = window.Limits{Words: 50, Age: 24 * time.Hour, Idle: time.Hour}

// open returns a window over the server at addr.
func open(t testing.TB, addr string, l window.Limits) (*redis.Window, *goredis.Client) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		ReadTimeout: time.Minute, // a script of thousands of turns takes long in an emulated server on a busy machine
	})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	w, err := redis.New(client, redis.Options{Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return w, client
}

func TestConformanceMiniredis(t *testing.T) {
	windowtest.Run(t, func(t *testing.T, l window.Limits) windowtest.Backend {
		server := miniredis.RunT(t)
		w, _ := open(t, server.Addr(), l)
		return windowtest.Backend{Window: w, Advance: server.FastForward}
	})
}

func TestServerAwayAndBack(t *testing.T) {
	server := miniredis.RunT(t)
	w, _ := open(t, server.Addr(), limits)
	scope := memory.Scope{Tenant: "acme", User: "u1"}
	turns := []memory.Turn{{ID: "a", Text: "hello", Time: time.Unix(1, 0)}}
	ops := map[string]func(context.Context) error{
		"append": func(ctx context.Context) error { return w.Append(ctx, scope, turns) },
		"recent": func(ctx context.Context) error { _, err := w.Recent(ctx, scope, time.Time{}); return err },
		"retire": func(ctx context.Context) error { return w.Retire(ctx, scope, []string{"other"}) },
	}
	server.Close()
	for name, op := range ops {
		if err := op(t.Context()); err == nil || fault.IsTerminal(err) {
			t.Errorf("%s with the server unavailable: got %v, want a retryable error", name, err)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for name, op := range ops {
		if err := op(t.Context()); err != nil {
			t.Errorf("%s with the server back: %v", name, err)
		}
	}
}

// The client sends the scripts again after the server has lost them (a restart, a failover).
func TestScriptsAreSentAgain(t *testing.T) {
	server := miniredis.RunT(t)
	w, client := open(t, server.Addr(), limits)
	scope := memory.Scope{Tenant: "acme", User: "u1"}
	for _, id := range []string{"a", "b"} {
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(t.Context(), scope, []memory.Turn{{ID: id, Time: time.Unix(1, 0)}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := w.Recent(t.Context(), scope, time.Time{}); err != nil || len(got) != 2 {
		t.Fatalf("got %d turns, error %v; want 2", len(got), err)
	}
}

// All keys of a user are in one cluster slot and do not contain the name, for any user id.
func TestKeysShareOneHashTag(t *testing.T) {
	for _, user := range []string{"u1", "{}", "}{", "{a}{b}", "a}b"} {
		t.Run(user, func(t *testing.T) {
			server := miniredis.RunT(t)
			w, _ := open(t, server.Addr(), limits)
			fill(t, w, memory.Scope{Tenant: "acme", User: user})
			keys := server.Keys()
			if len(keys) != 4 {
				t.Fatalf("got keys %v, want 4", keys)
			}
			for _, key := range keys {
				if hashTag(key) != hashTag(keys[0]) || len(hashTag(key)) != 64 {
					t.Errorf("key %q has hash tag %q, want 64 digits shared by all", key, hashTag(key))
				}
			}
		})
	}
}

// Turns written before the word budget have no head. They are readable, count by their length, and can be kept.
func TestTurnsOfAnOlderVersionStay(t *testing.T) {
	server := miniredis.RunT(t)
	w, client := open(t, server.Addr(), limits)
	scope := memory.Scope{Tenant: "acme", User: "u1"}
	at := time.Unix(1_700_000_000, 0).UTC()
	say := func(id string, after time.Duration) memory.Turn {
		return memory.Turn{ID: id, Speaker: "Ana", Role: memory.RoleUser, Text: "I moved to Porto.", Time: at.Add(after)}
	}
	if err := w.Append(t.Context(), scope, []memory.Turn{say("new", time.Minute)}); err != nil {
		t.Fatal(err)
	}
	old := say("old", 0)
	body, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range server.Keys() {
		switch {
		case strings.HasSuffix(key, ":bodies"):
			err = errors.Join(err, client.HSet(t.Context(), key, "old", "000000"+string(body)).Err())
		case strings.HasSuffix(key, ":turns"):
			err = errors.Join(err, client.ZAdd(t.Context(), key,
				goredis.Z{Score: float64(at.UnixMilli()), Member: "000000old"}).Err())
		}
	}
	err = errors.Join(err, w.Append(t.Context(), scope, []memory.Turn{say("newer", time.Hour)}))
	err = errors.Join(err, w.Keep(t.Context(), scope, []window.Kept{{Turn: old, Until: at.Add(2 * time.Hour)}}))
	got, readErr := w.Recent(t.Context(), scope, at.Add(2*time.Hour))
	if err := errors.Join(err, readErr); err != nil || len(got) != 3 || !reflect.DeepEqual(got[0], old) {
		t.Fatalf("got %+v, error %v, want %+v first", got, err, old)
	}
	got, err = w.Recent(t.Context(), scope, at.Add(3*time.Hour))
	if err != nil || len(got) != 2 || got[0].ID != "new" {
		t.Errorf("later there is %+v, error %v, want the others alone", got, err)
	}
}

// Retired ids that are too old to come back are dropped, so that a busy user's window stays small.
func TestRetiredIDsAreBounded(t *testing.T) {
	server := miniredis.RunT(t)
	w, client := open(t, server.Addr(), window.Limits{Words: 5, Age: 10 * time.Second, Idle: time.Hour})
	scope := memory.Scope{Tenant: "acme", User: "u1"}
	for i := range 200 {
		id := time.Duration(i).String()
		if err := w.Append(t.Context(), scope, []memory.Turn{{ID: id, Time: time.Unix(int64(i), 0)}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Retire(t.Context(), scope, []string{id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range server.Keys() {
		if strings.HasSuffix(key, ":retired") {
			if n := client.ZCard(t.Context(), key).Val(); n > 12 {
				t.Errorf("%d retired ids are kept, want no more than fit the age limit", n)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	for name, o := range map[string]redis.Options{
		"no limits":         {},
		"a brace in prefix": {Limits: limits, Prefix: "a{b"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := redis.New(client, o); err == nil {
				t.Fatal("accepted")
			}
		})
	}
}

// fill writes all keys of a user.
func fill(t testing.TB, w *redis.Window, scope memory.Scope) {
	t.Helper()
	if err := w.Append(t.Context(), scope, []memory.Turn{{ID: "a", Time: time.Unix(1, 0)},
		{ID: "b", Time: time.Unix(2, 0)}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Retire(t.Context(), scope, []string{"a"}); err != nil {
		t.Fatal(err)
	}
}

// hashTag returns the part of a key that a Redis cluster hashes.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
