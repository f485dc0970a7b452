package redis_test

import (
	"context"
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

var limits = window.Limits{Turns: 50, Age: 24 * time.Hour, Idle: time.Hour}

// open makes a window over the server at addr.
func open(t testing.TB, addr string, l window.Limits) (*redis.Window, *goredis.Client) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
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
		"recent": func(ctx context.Context) error { _, err := w.Recent(ctx, scope); return err },
		"retire": func(ctx context.Context) error { return w.Retire(ctx, scope, []string{"other"}) },
		"ping":   w.Ping,
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

// A server that forgot the scripts (a restart, a failover) is sent them again.
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
	if got, err := w.Recent(t.Context(), scope); err != nil || len(got) != 2 {
		t.Fatalf("got %d turns, error %v; want 2", len(got), err)
	}
}

// Whatever a user is called, all keys of a user fall into one cluster slot and tell nothing
// about the name.
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

// Retired ids too old to come back are dropped, so that a busy user's window stays bounded.
func TestRetiredIDsAreBounded(t *testing.T) {
	server := miniredis.RunT(t)
	w, client := open(t, server.Addr(), window.Limits{Turns: 5, Age: 10 * time.Second, Idle: time.Hour})
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

// fill makes a user have all keys.
func fill(t testing.TB, w *redis.Window, scope memory.Scope) {
	t.Helper()
	if err := w.Append(t.Context(), scope, []memory.Turn{{ID: "a", Time: time.Unix(1, 0)}, {ID: "b", Time: time.Unix(2, 0)}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Retire(t.Context(), scope, []string{"a"}); err != nil {
		t.Fatal(err)
	}
}

// hashTag is what a Redis cluster hashes of a key.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
