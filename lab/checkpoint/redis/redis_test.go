package redis_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/checkpoint/checkpointtest"
	"github.com/mneme-memory/mneme/lab/checkpoint/redis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a store over the server at addr.
func open(t *testing.T, addr string, ttl time.Duration) *redis.Store {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		ReadTimeout: time.Minute})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	s, err := redis.New(client, redis.Options{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformanceMiniredis(t *testing.T) {
	checkpointtest.Run(t, func(t *testing.T, ttl time.Duration) checkpointtest.Backend {
		server := miniredis.RunT(t)
		return checkpointtest.Backend{Store: open(t, server.Addr(), ttl), Advance: server.FastForward}
	})
}

func TestConformanceOnEveryRedis(t *testing.T) { redistest.Each(t, conformance) }

func conformance(t *testing.T, addr string) {
	checkpointtest.Run(t, func(t *testing.T, ttl time.Duration) checkpointtest.Backend {
		return checkpointtest.Backend{Store: open(t, addr, ttl)}
	})
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	server := redistest.Embedded(t)
	body := []byte{0, 255, '\r', '\n'}
	if err := open(t, server.Addr(), time.Hour).Put(t.Context(), "run", "k", body); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, server.Addr(), time.Hour).Get(t.Context(), "run", "k"); err != nil || !bytes.Equal(got, body) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestServerAwayAndBack(t *testing.T) {
	server := miniredis.RunT(t)
	s := open(t, server.Addr(), time.Hour)
	calls := map[string]func() error{
		"put":        func() error { return s.Put(t.Context(), "run", "k", []byte("x")) },
		"delete":     func() error { return s.Delete(t.Context(), "run", "other") },
		"delete run": func() error { return s.DeleteRun(t.Context(), "other") },
		"get": func() error {
			if err := s.Put(t.Context(), "run", "k", nil); err != nil {
				return err
			}
			_, err := s.Get(t.Context(), "run", "k")
			return err
		},
	}
	server.Close()
	for name, call := range calls {
		if err := call(); err == nil || fault.IsTerminal(err) {
			t.Errorf("%s with the server unavailable: got %v, want a retryable error", name, err)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s with the server back: %v", name, err)
		}
	}
}

// A run is one key, which expires as a whole. Special characters in names have no effect. Repeated content takes less
// space.
func TestARunIsOneKeyThatExpires(t *testing.T) {
	server := miniredis.RunT(t)
	s := open(t, server.Addr(), time.Hour)
	for _, key := range []string{"a", "b"} {
		if err := s.Put(t.Context(), "{run}", key, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	names := server.Keys()
	if len(names) != 1 || strings.ContainsAny(names[0], "{}") || server.TTL(names[0]) != time.Hour {
		t.Errorf("keys %q, the first lives for %s", names, server.TTL(names[0]))
	}
	if n := len(server.HGet(names[0], "a")); n > 64<<10 {
		t.Errorf("a MiB of zeros takes %d bytes", n)
	}
}

// A body with lost parts is refused.
func TestADamagedBodyIsRefused(t *testing.T) {
	server := miniredis.RunT(t)
	s := open(t, server.Addr(), time.Hour)
	if err := s.Put(t.Context(), "run", "k", []byte("some body")); err != nil {
		t.Fatal(err)
	}
	name := server.Keys()[0]
	whole := server.HGet(name, "k")
	for _, damaged := range []string{"", whole[:len(whole)-1], strings.Replace(whole, whole[12:14], "xx", 1)} {
		server.HSet(name, "k", damaged)
		if got, err := s.Get(t.Context(), "run", "k"); err == nil {
			t.Errorf("read %q", got)
		}
	}
}

func TestNewRefusesNoTime(t *testing.T) {
	if _, err := redis.New(nil, redis.Options{}); !fault.IsTerminal(err) {
		t.Errorf("accepted: %v", err)
	}
}
