// Package e2e_test tests the whole path through the public interfaces. It covers session events, memories, profiles,
// dead letters and replay. Every system behind them is real.
package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/test/harness"
)

// shared is the system of all tests that break no server. Each test has separate tenants or users.
var shared *harness.System

// gatewayURL is the URL of the gateway in front of the shared system.
var gatewayURL string

// endpoint is the model server of tenantModel.
var endpoint *model

// Tenants of the shared system.
const (
	tenantRepeat = "repeat"
	tenantNorth  = "north"
	tenantSouth  = "south"
	tenantDead   = "dead"
	tenantRead   = "read"
	tenantFile   = "file"
	tenantErase  = "erase"
	tenantEval   = "eval"
	tenantModel  = "model" // of policy llm
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "mneme-e2e-")
	if err != nil {
		return fail("make directory", err)
	}
	defer os.RemoveAll(dir)
	if endpoint, err = startModel(); err != nil {
		return fail("start model", err)
	}
	defer endpoint.Stop()
	tenants := append(strategyTenants(), harness.Tenant{ID: tenantModel, Policy: tenant.PolicyLLM})
	for _, id := range []string{tenantRepeat, tenantNorth, tenantSouth, tenantDead, tenantRead, tenantFile, tenantErase,
		tenantEval} {
		tenants = append(tenants, harness.Tenant{ID: id})
	}
	environ := endpoint.environ()
	// for the gateway and for tests
	environ["MNEME_INTERNAL_SECRET"], environ["MNEME_INTERNAL_KEYS"] = internalSecret, "true"
	shared, err = harness.Open(context.Background(), dir, harness.Options{Tenants: tenants, Environ: environ})
	if err != nil {
		return fail("start system", err)
	}
	var log bytes.Buffer
	base, stop, err := startGateway(context.Background(), &log)
	if err != nil {
		return fail("start gateway", err)
	}
	gatewayURL = base
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, shared.Complaints())
	}
	if err := stop(); err != nil {
		return fail("stop gateway", fmt.Errorf("%w\n%s", err, &log))
	}
	if err := shared.Close(); err != nil {
		return fail("stop system", err)
	}
	endpoint.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		return fail("after the end", err)
	}
	return code
}

func fail(what string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return 1
}
