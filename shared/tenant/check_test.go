package tenant_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestSuspended(t *testing.T) {
	text := doc("    suspended: true\n    api_keys: ['"+tenant.HashKey("one")+"']\n",
		"  - id: beta\n    suspended: false\n")
	w := both(t, text, nil)
	if _, err := w.Authenticate("one"); !errors.Is(err, tenant.ErrSuspended) {
		t.Errorf("its key: got %v", err)
	}
	for id, want := range map[string]bool{"acme": true, "beta": false} {
		if got, err := w.Lookup(id); err != nil || got.Suspended != want {
			t.Errorf("%s: got %+v, %v", id, got, err)
		}
	}
	w.start(t)
	w.write(t, strings.Replace(text, "suspended: true", "suspended: false", 1))
	receive(t, w.reloaded)
	if _, err := w.Authenticate("one"); err != nil {
		t.Errorf("resumed: got %v", err)
	}
	if _, err := tenant.Parse(strings.NewReader(doc("    suspended: perhaps\n"))); err == nil ||
		!strings.Contains(err.Error(), "line 3") {
		t.Errorf("neither true nor false: got %v", err)
	}
}

func TestCheck(t *testing.T) {
	got, err := tenant.Check(tenant.Tenant{ID: "acme", Strategy: tenant.StrategyRMM, Suspended: true})
	want := tenant.Tenant{
		ID: "acme", Name: "acme", Strategy: tenant.StrategyRMM, Policy: tenant.PolicyEmbedded, Saliency: memory.SaliencyMark,
		Suspended: true,
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	_, err = tenant.Check(tenant.Tenant{ID: "A", Strategy: "s", Policy: "p", Saliency: "x", Explore: "e", TalkDays: -1})
	if !fault.IsTerminal(err) || fault.Field(err) != "id" {
		t.Errorf("got %v", err)
	}
	for _, field := range []string{"id: ", "strategy: ", "policy: ", "saliency: ", "explore: ", "talk_days: "} {
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}
