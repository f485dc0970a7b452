package weaviate_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/banktest"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
)

const model = "test-model/1"

// server is the server of the whole package. A test that stops it starts it again.
var server *servers.Weaviate

// prefixes counts the banks with separate collections.
var prefixes atomic.Int32

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mneme-bank-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if server, err = servers.StartWeaviate(ctx, process.Options{Dir: dir, Log: os.Stderr}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := flag.Set("rapid.checks", "25"); err != nil { // each draw writes to a server
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The client's finalizer waits for a reader that exists only with credentials. When the client of a closed bank is
	// collected, the finalizer goroutine waits for ever. A service opens one bank, and keeps it.
	finalizer := goleak.IgnoreAnyFunction("github.com/weaviate/weaviate-go-client/v4/weaviate/connection.finalizer")
	if err := goleak.Find(finalizer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// newConfig returns the settings of a bank that does not exist yet.
func newConfig() weaviate.Config {
	return weaviate.Config{
		HTTP: server.HTTP(), GRPC: server.GRPC(), Timeout: 20 * time.Second,
		Prefix: fmt.Sprintf("Test%d", prefixes.Add(1)),
	}
}

func openBank(t testing.TB, cfg weaviate.Config) *weaviate.Bank {
	t.Helper()
	b, err := weaviate.Open(t.Context(), cfg, model, banktest.Dimension)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

func TestConformance(t *testing.T) {
	b := openBank(t, newConfig())
	banktest.Run(t, func(*testing.T) bank.Bank { return b })
}

func TestConfigRefusesWhatCannotWork(t *testing.T) {
	good := newConfig()
	cases := map[string]func(*weaviate.Config){
		"MNEME_WEAVIATE_HTTP":     func(c *weaviate.Config) { c.HTTP = "" },
		"MNEME_WEAVIATE_GRPC":     func(c *weaviate.Config) { c.GRPC = "" },
		"MNEME_WEAVIATE_PREFIX":   func(c *weaviate.Config) { c.Prefix = "lower" },
		"MNEME_WEAVIATE_TIMEOUT":  func(c *weaviate.Config) { c.Timeout = 0 },
		"MNEME_WEAVIATE_REPLICAS": func(c *weaviate.Config) { c.Replicas = -1 },
	}
	if err := good.Validate(); err != nil {
		t.Errorf("Validate: %v", err)
	}
	for field, inject := range cases {
		cfg := good
		inject(&cfg)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
