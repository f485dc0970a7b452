package redis_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/store/weights/redis"
	"github.com/mneme-memory/mneme/shared/store/weights/weightstest"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	limits = weights.Limits{Versions: 20, Traces: 64, TraceTTL: 24 * time.Hour}
	ana    = memory.Scope{Tenant: "acme", User: "ana"}
)

// open returns a store over the server at addr.
func open(t testing.TB, addr string, o redis.Options) (*redis.Store, *goredis.Client) {
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
	s, err := redis.New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}

// ahead is a clock that tests advance together with the server's clock.
type ahead struct {
	mu sync.Mutex
	by time.Duration
}

func (a *ahead) Now() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Add(a.by)
}

func (a *ahead) advance(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.by += d
}

func TestConformanceMiniredis(t *testing.T) {
	weightstest.Run(t, func(t *testing.T, l weights.Limits) weightstest.Backend {
		server, clock := miniredis.RunT(t), &ahead{}
		s, _ := open(t, server.Addr(), redis.Options{Limits: l, Now: clock.Now})
		return weightstest.Backend{Store: s, Advance: func(d time.Duration) { clock.advance(d); server.FastForward(d) }}
	})
}

func TestConformanceOnEveryRedis(t *testing.T) { redistest.Each(t, conformance) }

func conformance(t *testing.T, addr string) {
	weightstest.Run(t, func(t *testing.T, l weights.Limits) weightstest.Backend {
		s, _ := open(t, addr, redis.Options{Limits: l})
		return weightstest.Backend{Store: s}
	})
}

func fill(t testing.TB, s *redis.Store, scope memory.Scope) {
	t.Helper()
	c := weights.Change{Body: []byte{0, 255, '\r', '\n'}, Versions: []weights.Version{{Number: 1, Body: []byte{0}}},
		User:   scope.User,
		Events: []weights.Event{{ID: "e1", Time: time.Now()}}}
	if err := s.Commit(t.Context(), scope.Tenant, c); err != nil {
		t.Fatal(err)
	}
	if err := s.PutTrace(t.Context(), scope, "r1", []byte{1, 0}); err != nil {
		t.Fatal(err)
	}
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	server := redistest.Embedded(t)
	s, _ := open(t, server.Addr(), redis.Options{Limits: limits})
	fill(t, s, ana)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, _ = open(t, server.Addr(), redis.Options{Limits: limits})
	r, err := s.Load(t.Context(), ana.Tenant, 0)
	if err != nil || r.Revision != 1 || string(r.Body) != "\x00\xff\r\n" {
		t.Errorf("loaded %d with %q, %v", r.Revision, r.Body, err)
	}
	if vs, err := s.Versions(t.Context(), ana.Tenant); err != nil || len(vs) != 1 || string(vs[0].Body) != "\x00" {
		t.Errorf("versions %v, %v", vs, err)
	}
	if k, err := s.Known(t.Context(), ana, []string{"e1"}, time.Unix(0, 0)); err != nil || !k.Seen[0] {
		t.Errorf("known %v, %v", k, err)
	}
	if got, err := s.Traces(t.Context(), ana, []string{"r1"}); err != nil || string(got[0]) != "\x01\x00" {
		t.Errorf("traces %q, %v", got, err)
	}
}

// calls makes one call of every kind.
func calls(s *redis.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"load":     func(ctx context.Context) error { _, err := s.Load(ctx, ana.Tenant, 0); return err },
		"known":    func(ctx context.Context) error { _, err := s.Known(ctx, ana, []string{"e"}, time.Now()); return err },
		"commit":   func(ctx context.Context) error { return s.Commit(ctx, ana.Tenant, weights.Change{Body: []byte("x")}) },
		"versions": func(ctx context.Context) error { _, err := s.Versions(ctx, ana.Tenant); return err },
		"put":      func(ctx context.Context) error { return s.PutTrace(ctx, ana, "r", []byte("x")) },
		"traces":   func(ctx context.Context) error { _, err := s.Traces(ctx, ana, []string{"r"}); return err },
		"erase":    func(ctx context.Context) error { return s.Erase(ctx, ana) },
		"count":    func(ctx context.Context) error { _, err := s.Count(ctx, ana); return err },
	}
}

func TestServerAwayAndBack(t *testing.T) {
	server := miniredis.RunT(t)
	s, _ := open(t, server.Addr(), redis.Options{Limits: limits})
	server.Close()
	for name, call := range calls(s) {
		if err := call(t.Context()); err == nil || fault.IsTerminal(err) {
			t.Errorf("%s with the server unavailable: got %v, want a retryable error", name, err)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls(s) {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s with the server back: %v", name, err)
		}
	}
}

// All keys of one command are in one cluster slot, for any user id, and no key contains a name.
func TestKeysOfOneChangeShareAHashTag(t *testing.T) {
	for _, user := range []string{"u1", "{}", "}{", "{a}{b}", "a}b"} {
		t.Run(user, func(t *testing.T) {
			server := miniredis.RunT(t)
			s, _ := open(t, server.Addr(), redis.Options{Limits: limits})
			fill(t, s, memory.Scope{Tenant: "acme", User: user})
			tags := map[string]int{}
			for _, key := range server.Keys() {
				_, rest, _ := strings.Cut(key, "{")
				tag, _, _ := strings.Cut(rest, "}")
				tags[tag]++
				if len(tag) != 64 || strings.Contains(key, "acme") {
					t.Errorf("key %q has the tag %q", key, tag)
				}
			}
			if len(server.Keys()) != 5 || len(tags) != 2 {
				t.Errorf("keys %v, want three of the tenant and two of the user", server.Keys())
			}
		})
	}
}

// A user's data expires by itself; a tenant's weights stay.
func TestUsersKeysExpire(t *testing.T) {
	server := miniredis.RunT(t)
	s, client := open(t, server.Addr(), redis.Options{Limits: limits})
	fill(t, s, ana)
	for _, key := range server.Keys() {
		left := client.PTTL(t.Context(), key).Val()
		if stays := strings.HasSuffix(key, "state") || strings.HasSuffix(key, "versions"); stays != (left < 0) ||
			left > 2*limits.EventTTL() {
			t.Errorf("key %s lives for %v", key, left)
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
