// Package directorytest is the conformance suite of the directory port. Every store passes it.
package directorytest

import (
	"context"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Factory returns an empty directory. Its cleanup runs with t.
type Factory func(t *testing.T) directory.Directory

// Run runs the whole suite.
func Run(t *testing.T, factory Factory) {
	s := &suite{factory: factory}
	t.Run("tenants", func(t *testing.T) {
		t.Run("of an empty directory are none", s.noTenants)
		t.Run("come back as they were made, by id", s.tenants)
		t.Run("an id is taken once", s.tenantTaken)
		t.Run("change, and keep their id", s.change)
		t.Run("a change that fails does nothing", s.changeFails)
		t.Run("no change is lost to another", s.concurrentChanges)
		t.Run("one of many makers succeeds", s.concurrentMakers)
		t.Run("every change has a revision of its own", s.revision)
	})
	t.Run("keys", func(t *testing.T) {
		t.Run("of nobody are none", s.noKeys)
		t.Run("come back as they were made", s.keys)
		t.Run("are the caller's own copies", s.copies)
		t.Run("are listed the oldest first", s.order)
		t.Run("hash and id are taken once", s.keyTaken)
		t.Run("are returned when they have expired", s.expired)
		t.Run("are gone when they are revoked", s.revoke)
		t.Run("of others are not found", s.isolation)
		t.Run("are not too many", s.tooMany)
		t.Run("know when they were used last", s.touch)
		t.Run("no use resurrects a revoked one", s.touchRevoked)
		t.Run("property: equal the model", s.model)
	})
	t.Run("what has no id is refused", s.refused)
}

type suite struct{ factory Factory }

// tester is the common part of *testing.T and *rapid.T for the helpers.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

var noon = time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)

// everything returns a tenant with every field set.
func everything(id string) tenant.Tenant {
	return tenant.Tenant{
		ID: id, Name: "Añe \"Ltd\" <&>\n", Strategy: tenant.StrategyRMM, Policy: tenant.PolicyLLM,
		Saliency: memory.SaliencyOff,
		Explore:  "0.25", TalkDays: 90,
		Suspended: true,
	}
}

// key returns a key with a hash of its tenant and id.
func key(tenantID, id string) access.Key {
	return access.Key{
		ID: id, Hash: access.HashOf(tenantID + "/" + id), Tenant: tenantID,
		Scopes: []access.Scope{access.Ingest, access.Recall}, CreatedAt: noon,
	}
}

func mustCreate(t tester, d directory.Directory, tenants ...tenant.Tenant) {
	t.Helper()
	for _, one := range tenants {
		if err := d.CreateTenant(t.Context(), one); err != nil {
			t.Fatalf("create tenant %s: %v", one.ID, err)
		}
	}
}

func mustCreateKeys(t tester, d directory.Directory, keys ...access.Key) {
	t.Helper()
	for _, k := range keys {
		if err := d.CreateKey(t.Context(), k); err != nil {
			t.Fatalf("create key %s of %s: %v", k.ID, k.Tenant, err)
		}
	}
}

func (s *suite) refused(t *testing.T) {
	d := s.factory(t)
	if err := d.CreateTenant(t.Context(), tenant.Tenant{Name: "Acme"}); err == nil {
		t.Error("a tenant without id was made")
	}
	for name, spoil := range map[string]func(*access.Key){
		"no id": func(k *access.Key) { k.ID = "" }, "no tenant": func(k *access.Key) { k.Tenant = "" },
		"no hash": func(k *access.Key) {
			k.Hash = access.Hash{}
		}, "the empty key": func(k *access.Key) { k.Hash = access.HashOf("") },
	} {
		k := key("acme", "k1")
		spoil(&k)
		if err := d.CreateKey(t.Context(), k); err == nil {
			t.Errorf("%s: a key was made", name)
		}
	}
}
