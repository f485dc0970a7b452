package keys_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/directory/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func pointer[T any](v T) *T { return &v }

func TestAnOperatorManagesTenants(t *testing.T) {
	d := inmem.New()
	o := &keys.Operator{Directory: d, Now: atNoon}
	made, err := o.CreateTenant(t.Context(), tenant.Tenant{ID: "acme", Strategy: tenant.StrategyRMM})
	want := tenant.Tenant{ID: "acme", Name: "acme", Strategy: tenant.StrategyRMM, Policy: tenant.PolicyEmbedded,
		Saliency: memory.SaliencyMark}
	if err != nil || made != want {
		t.Fatalf("got %+v, %v, want %+v", made, err, want)
	}
	_, err = o.CreateTenant(t.Context(), tenant.Tenant{ID: "acme"})
	wantProblem(t, err, http.StatusConflict, "the tenant exists already")

	changed, err := o.ChangeTenant(t.Context(), "acme",
		keys.TenantChange{Name: pointer("Acme"), Strategy: pointer(tenant.StrategySalimory)})
	want.Name, want.Strategy, want.Saliency = "Acme", tenant.StrategySalimory, memory.SaliencyGate
	if err != nil || changed != want {
		t.Errorf("what was left out does not follow the strategy: got %+v, %v, want %+v", changed, err, want)
	}
	for _, suspended := range []bool{true, false} {
		want.Suspended = suspended
		if got, err := o.SuspendTenant(t.Context(), "acme", suspended); err != nil || got != want {
			t.Errorf("suspended %t: got %+v, %v", suspended, got, err)
		}
		if all, err := o.Tenants(t.Context()); err != nil || len(all) != 1 || all[0] != want {
			t.Errorf("listed %+v, %v", all, err)
		}
	}
	_, err = o.SuspendTenant(t.Context(), "nobody", true)
	wantProblem(t, err, http.StatusNotFound, "made at run time")
}

func TestTenantsThatCannotBe(t *testing.T) {
	d := inmem.New()
	o := &keys.Operator{Directory: d, Now: atNoon}
	if _, err := o.CreateTenant(t.Context(), tenant.Tenant{ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 10<<10)
	for _, c := range []struct {
		field string
		t     tenant.Tenant
	}{
		{"id", tenant.Tenant{ID: ""}}, {"id", tenant.Tenant{ID: "Not Valid"}}, {"id", tenant.Tenant{ID: long}},
		{"name", tenant.Tenant{ID: "beta", Name: long}}, {"name", tenant.Tenant{ID: "beta", Name: "\xff"}},
		{"strategy", tenant.Tenant{ID: "beta", Strategy: "magic"}}, {"policy", tenant.Tenant{ID: "beta", Policy: "magic"}},
		{"saliency", tenant.Tenant{ID: "beta", Saliency: "magic"}}, {"explore", tenant.Tenant{ID: "beta", Explore: "2"}},
		{"explore", tenant.Tenant{ID: "beta", Explore: tenant.Exploration(long)}},
	} {
		_, err := o.CreateTenant(t.Context(), c.t)
		wantProblem(t, err, http.StatusBadRequest, "")
		if p := problem.From(err); p.Field != c.field || len(p.Detail) > 500 {
			t.Errorf("%s: got field %q, %.200q", c.field, p.Field, p.Detail)
		}
		if c.field == "id" {
			continue
		}
		_, err = o.ChangeTenant(t.Context(), "acme", keys.TenantChange{
			Name: &c.t.Name, Strategy: &c.t.Strategy, Policy: &c.t.Policy, Saliency: &c.t.Saliency, Explore: &c.t.Explore,
		})
		wantProblem(t, err, http.StatusBadRequest, c.field)
	}
	if all, err := d.Tenants(t.Context()); err != nil || len(all) != 1 || all[0] != (tenant.Tenant{ID: "acme"}) {
		t.Errorf("there are %+v, %v", all, err)
	}
}

func TestAnOperatorManagesKeysOfTenants(t *testing.T) {
	w := newWorld(t)
	o := &keys.Operator{Directory: w.directory, Now: w.clock.Now, Lookup: w.registry.Lookup}
	if _, err := o.CreateTenant(t.Context(), tenant.Tenant{ID: "new"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"filed", "new"} {
		_, err := o.CreateTenant(t.Context(), tenant.Tenant{ID: id})
		wantProblem(t, err, http.StatusConflict, "the tenant exists already")
		k, text, err := o.CreateKey(t.Context(), access.Key{Tenant: id, Scopes: access.Scopes()})
		if err != nil {
			t.Fatal(err)
		}
		w.want(t, text, nil)
		if all, err := o.Keys(t.Context(), id); err != nil || len(all) != 1 || all[0].ID != k.ID {
			t.Errorf("listed %+v, %v", all, err)
		}
		wantProblem(t, o.RevokeKey(t.Context(), "made", k.ID), http.StatusNotFound, "no such key")
		if err := o.RevokeKey(t.Context(), id, k.ID); err != nil {
			t.Error(err)
		}
	}
	_, _, err := o.CreateKey(t.Context(), access.Key{Tenant: "nobody"})
	wantProblem(t, err, http.StatusNotFound, "no such tenant")
	_, err = o.Keys(t.Context(), "Not Valid")
	wantProblem(t, err, http.StatusBadRequest, "tenant_id")
	wantProblem(t, o.RevokeKey(t.Context(), "Not Valid", "k"), http.StatusBadRequest, "tenant_id")
	_, err = o.SuspendTenant(t.Context(), "filed", true)
	wantProblem(t, err, http.StatusNotFound, "made at run time")
	w.directory.away.Store(true)
	_, _, err = o.CreateKey(t.Context(), access.Key{Tenant: "nobody"})
	wantProblem(t, err, http.StatusServiceUnavailable, "")
}
