package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/store/directory/directorytest"
	"github.com/mneme-memory/mneme/shared/store/directory/redis"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a directory over the server at addr.
func open(t testing.TB, addr, prefix string) (*redis.Directory, *goredis.Client) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		ReadTimeout: time.Minute})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	d, err := redis.New(client, redis.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	return d, client
}

// conformance runs the suite over one server. Every directory has a separate prefix.
func conformance(t *testing.T, addr string) {
	_, client := open(t, addr, "")
	var made atomic.Int64
	directorytest.Run(t, func(t *testing.T) directory.Directory {
		d, err := redis.New(client, redis.Options{Prefix: fmt.Sprintf("test-%d:", made.Add(1))})
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

func TestConformanceMiniredis(t *testing.T) { conformance(t, miniredis.RunT(t).Addr()) }

func TestConformanceOnEveryRedis(t *testing.T) { redistest.Each(t, conformance) }

var acmeKey = access.Key{ID: "k1", Hash: access.HashOf("one"), Tenant: "acme", Scopes: access.Scopes(),
	CreatedAt: time.Unix(1, 0).UTC()}

// fill creates a tenant, changes it, and creates a used key.
func fill(t testing.TB, d *redis.Directory) {
	t.Helper()
	_, err := tenant.Tenant{}, d.CreateTenant(t.Context(), tenant.Tenant{ID: "acme"})
	if err == nil {
		_, err = d.ChangeTenant(t.Context(), "acme", func(one *tenant.Tenant) error { one.Suspended = true; return nil })
	}
	if err := errors.Join(err, d.CreateKey(t.Context(), acmeKey),
		d.Touch(t.Context(), "acme", "k1", time.Unix(2, 0))); err != nil {
		t.Fatal(err)
	}
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	server := redistest.Embedded(t)
	d, _ := open(t, server.Addr(), "")
	fill(t, d)
	before, err1 := d.Revision(t.Context())
	if err := errors.Join(err1, server.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	d, _ = open(t, server.Addr(), "")
	if one, err := d.Tenant(t.Context(), "acme"); err != nil || !one.Suspended {
		t.Errorf("tenant %+v, %v", one, err)
	}
	if k, err := d.KeyByHash(t.Context(), acmeKey.Hash); err != nil || !k.LastUsedAt.Equal(time.Unix(2, 0)) {
		t.Errorf("key %+v, %v", k, err)
	}
	if r, err := d.Revision(t.Context()); err != nil || r != before {
		t.Errorf("revision %q, %v, was %q", r, err, before)
	}
}

// calls makes one call of every kind.
func calls(d *redis.Directory) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"create": func(ctx context.Context) error { return d.CreateTenant(ctx, tenant.Tenant{ID: "acme"}) },
		"change": func(ctx context.Context) error {
			_, err := d.ChangeTenant(ctx, "acme", func(*tenant.Tenant) error { return nil })
			return err
		},
		"tenant":     func(ctx context.Context) error { _, err := d.Tenant(ctx, "acme"); return err },
		"tenants":    func(ctx context.Context) error { _, err := d.Tenants(ctx); return err },
		"revision":   func(ctx context.Context) error { _, err := d.Revision(ctx); return err },
		"create key": func(ctx context.Context) error { return d.CreateKey(ctx, acmeKey) },
		"keys":       func(ctx context.Context) error { _, err := d.Keys(ctx, "acme"); return err },
		"key":        func(ctx context.Context) error { _, err := d.KeyByHash(ctx, acmeKey.Hash); return err },
		"touch":      func(ctx context.Context) error { return d.Touch(ctx, "acme", "k1", time.Unix(2, 0)) },
		"revoke":     func(ctx context.Context) error { return d.RevokeKey(ctx, "acme", "k1") },
	}
}

func TestServerAway(t *testing.T) {
	server := miniredis.RunT(t)
	d, _ := open(t, server.Addr(), "")
	server.Close()
	for name, call := range calls(d) {
		err := call(t.Context())
		if err == nil || fault.IsTerminal(err) || errors.Is(err, directory.ErrNotFound) ||
			errors.Is(err, directory.ErrExists) {
			t.Errorf("%s with the server unavailable: got %v, want a retryable error", name, err)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	fill(t, d)
}

// A damaged record is reported, and is no error of the caller.
func TestDamagedRecords(t *testing.T) {
	server := miniredis.RunT(t)
	d, client := open(t, server.Addr(), "")
	fill(t, d)
	const tag = "mneme:directory:{directory}:"
	hash := fmt.Sprintf("%x", acmeKey.Hash)
	for _, write := range []*goredis.IntCmd{
		client.HSet(t.Context(), tag+"tenants", "acme", "{"), client.HSet(t.Context(), tag+"keys", hash, "x"),
	} {
		if err := write.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tenant", "tenants", "change", "key", "keys"} {
		if err := calls(d)[name](t.Context()); err == nil || fault.IsTerminal(err) || errors.Is(err, directory.ErrNotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// All keys of a script are in one slot of a cluster, and no key contains another hash tag.
func TestKeysShareAHashTag(t *testing.T) {
	server := miniredis.RunT(t)
	d, _ := open(t, server.Addr(), "mine:")
	fill(t, d)
	if len(server.Keys()) != 5 {
		t.Errorf("keys %v", server.Keys())
	}
	for _, key := range server.Keys() {
		if !strings.HasPrefix(key, "mine:{directory}:") {
			t.Errorf("key %q", key)
		}
	}
	if strings.Contains(server.Dump(), "one") {
		t.Error("the key's text is kept")
	}
}

func TestNewRefusesBraces(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	if _, err := redis.New(client, redis.Options{Prefix: "a{b"}); err == nil {
		t.Error("accepted")
	}
}
