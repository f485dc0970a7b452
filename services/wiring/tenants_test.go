package wiring_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// openTenants opens the tenants of the settings, keeps them up to date until the test ends, and returns them.
func openTenants(t *testing.T, environ map[string]string) (*tenant.Registry, error) {
	t.Helper()
	cfg, err := config.Load[all](environ)
	if err != nil {
		t.Fatal(err)
	}
	b := &wiring.Builder{}
	r, err := b.OpenTenants(cfg.Tenants, newTelemetry(t))
	if err != nil {
		return nil, err
	}
	if len(b.App.Background) != 1 {
		t.Errorf("%d tasks", len(b.App.Background))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.App.Background[0].Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch tenants: %v", err)
		}
		for _, step := range b.App.Close {
			if err := step.Run(context.Background()); err != nil {
				t.Errorf("close %s: %v", step.Name, err)
			}
		}
	})
	return r, nil
}

func tenantsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(path, []byte("tenants:\n  - id: filed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually waits until the registry has a tenant.
func eventually(t *testing.T, r *tenant.Registry, id string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		_, err := r.Lookup(id)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("tenant %s: %v", id, err)
		}
	}
}

func TestTenantsOfTheDirectory(t *testing.T) {
	server := miniredis.RunT(t)
	for name, file := range map[string]string{"beside a file": tenantsFile(t), "alone": "-"} {
		t.Run(name, func(t *testing.T) {
			environ := map[string]string{
				"MNEME_TENANTS_FILE": file, "MNEME_TENANTS_DIRECTORY": "true", "MNEME_REDIS_ADDRS": server.Addr(),
				"MNEME_REDIS_DIRECTORY_PREFIX": t.Name(), "MNEME_TENANTS_POLL": "1ms",
			}
			cfg, err := config.Load[all](environ)
			if err != nil {
				t.Fatal(err)
			}
			d, free, err := cfg.Window.OpenDirectory(newTelemetry(t)) // all services have the same settings of Redis
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = free() })
			if err := d.CreateTenant(t.Context(), tenant.Tenant{ID: "first"}); err != nil {
				t.Fatal(err)
			}
			r, err := openTenants(t, environ)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Lookup("first"); err != nil {
				t.Error(err)
			}
			if _, err := r.Lookup("filed"); (err == nil) != (file != "-") {
				t.Errorf("the file's: %v", err)
			}
			if err := d.CreateTenant(t.Context(), tenant.Tenant{ID: "second"}); err != nil {
				t.Fatal(err)
			}
			eventually(t, r, "second")
		})
	}
}

// Services start while Redis is unavailable, and read its tenants once it is available.
func TestTheDirectoryIsAway(t *testing.T) {
	server := miniredis.RunT(t)
	addr := server.Addr()
	server.Close()
	r, err := openTenants(t, map[string]string{
		"MNEME_TENANTS_FILE": tenantsFile(t), "MNEME_TENANTS_DIRECTORY": "true", "MNEME_REDIS_ADDRS": addr,
		"MNEME_TENANTS_POLL": "1ms",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup("filed"); err != nil {
		t.Error(err)
	}
	if _, err := r.Lookup("made"); err == nil || fault.IsTerminal(err) {
		t.Errorf("one of the directory: got %v, want a retryable error", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load[all](map[string]string{"MNEME_REDIS_ADDRS": addr})
	if err != nil {
		t.Fatal(err)
	}
	d, free, err := cfg.Tenants.Redis.OpenDirectory(newTelemetry(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = free() })
	if err := d.CreateTenant(t.Context(), tenant.Tenant{ID: "made"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, r, "made")
}

func TestTenantsWithoutTheDirectory(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := openTenants(t, map[string]string{"MNEME_TENANTS_FILE": tenantsFile(t),
		"MNEME_REDIS_ADDRS": l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup("made"); !fault.IsTerminal(err) {
		t.Errorf("got %v", err)
	}
	if _, err := openTenants(t, map[string]string{"MNEME_TENANTS_FILE": filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a file that is not there was accepted")
	}
	_, err = config.Load[all](map[string]string{"MNEME_TENANTS_FILE": "-"})
	if !fault.IsTerminal(err) || !strings.Contains(err.Error(), "MNEME_TENANTS_DIRECTORY") {
		t.Errorf("no tenants from anywhere: got %v", err)
	}
}
