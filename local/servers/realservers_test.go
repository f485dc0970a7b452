//go:build realservers

package servers_test

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

func TestRedisServerKeepsAcknowledgedWritesOverKillAndStop(t *testing.T) {
	ctx := servertest.Context(t)
	r, err := servers.StartRedisServer(ctx, process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, r)
	c := redisClient(t, r.Addr())
	for i := range 100 {
		if err := c.RPush(ctx, "list", i).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	servertest.MustEnd(ctx, t, r)
	for range 2 {
		if err := r.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := c.LLen(ctx, "list").Result(); err != nil || got != 100 {
			t.Errorf("%d items (%v), want 100", got, err)
		}
	}
}

func TestRedisServerKeepsAcknowledgedWritesWhenItsParentIsKilled(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	p := startParent(t, "redis-server", dir)
	if err := redisClient(t, p.addr).Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	child := childPid(t, dir, "redis-server")
	p.kill()
	eventually(ctx, t, "child of a killed parent", func() error { return gone(child) })
	r, err := servers.StartRedis(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, r)
	if got, err := redisClient(t, r.Addr()).Get(ctx, "key").Result(); err != nil || got != "value" || r.Addr() != p.addr {
		t.Errorf("got %q (%v) at %s, want the value at %s", got, err, r.Addr(), p.addr)
	}
}

func TestRedisDirectoryStaysWithTheServerThatItBeganWith(t *testing.T) {
	ctx := servertest.Context(t)
	for want, start := range map[string]func(context.Context, process.Options) (*servers.Redis, error){
		"redis-server": servers.StartRedis, "embedded": servers.StartEmbeddedRedis,
	} {
		dir := t.TempDir()
		for _, start := range []func(context.Context, process.Options) (*servers.Redis, error){start, servers.StartRedis} {
			r, err := start(ctx, process.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Stop(ctx); err != nil {
				t.Error(err)
			}
			if got := redisOf(dir); got != want {
				t.Errorf("it is %s, want %s", got, want)
			}
		}
	}
}
