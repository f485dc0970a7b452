package directorytest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func wantTenants(t tester, d directory.Directory, want ...tenant.Tenant) {
	t.Helper()
	got, err := d.Tenants(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("tenants are %+v, %v, want %+v", got, err, want)
	}
	for _, one := range want {
		if got, err := d.Tenant(t.Context(), one.ID); err != nil || got != one {
			t.Fatalf("tenant %s is %+v, %v, want %+v", one.ID, got, err, one)
		}
	}
}

func (s *suite) noTenants(t *testing.T) {
	d := s.factory(t)
	wantTenants(t, d)
	if _, err := d.Tenant(t.Context(), "acme"); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("a tenant: got %v", err)
	}
	_, err := d.ChangeTenant(t.Context(), "acme", func(*tenant.Tenant) error {
		t.Error("a change of nobody was asked for")
		return nil
	})
	if !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("a change: got %v", err)
	}
	if r, err := d.Revision(t.Context()); err != nil || r != "" {
		t.Errorf("revision is %q, %v", r, err)
	}
}

func (s *suite) tenants(t *testing.T) {
	d := s.factory(t)
	mustCreate(t, d, everything("zeta"), tenant.Tenant{ID: "acme"}, everything("acme-2"))
	wantTenants(t, d, tenant.Tenant{ID: "acme"}, everything("acme-2"), everything("zeta"))
}

func (s *suite) tenantTaken(t *testing.T) {
	d := s.factory(t)
	mustCreate(t, d, everything("acme"))
	before := mustRevision(t, d)
	if err := d.CreateTenant(t.Context(), tenant.Tenant{ID: "acme"}); !errors.Is(err, directory.ErrExists) {
		t.Errorf("got %v", err)
	}
	wantTenants(t, d, everything("acme"))
	if mustRevision(t, d) != before {
		t.Error("the revision has changed")
	}
}

func (s *suite) change(t *testing.T) {
	d := s.factory(t)
	mustCreate(t, d, everything("acme"), everything("beta"))
	got, err := d.ChangeTenant(t.Context(), "acme", func(one *tenant.Tenant) error {
		if *one != everything("acme") {
			t.Errorf("is changed from %+v", *one)
		}
		*one = tenant.Tenant{ID: "beta", Name: "Other", Suspended: false}
		return nil
	})
	want := tenant.Tenant{ID: "acme", Name: "Other"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	wantTenants(t, d, want, everything("beta"))
}

func (s *suite) changeFails(t *testing.T) {
	d := s.factory(t)
	mustCreate(t, d, everything("acme"))
	before, wrong := mustRevision(t, d), errors.New("wrong")
	_, err := d.ChangeTenant(t.Context(), "acme", func(one *tenant.Tenant) error { one.Name = "lost"; return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	wantTenants(t, d, everything("acme"))
	if mustRevision(t, d) != before {
		t.Error("the revision has changed")
	}
}

const writers = 6

func (s *suite) concurrentChanges(t *testing.T) {
	const each = 5
	d := s.factory(t)
	mustCreate(t, d, tenant.Tenant{ID: "acme"})
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				if _, err := d.ChangeTenant(t.Context(), "acme", func(one *tenant.Tenant) error {
					one.Name += "+"
					return nil
				}); err != nil {
					t.Errorf("change: %v", err)
				}
			}
		})
	}
	group.Wait()
	if got, err := d.Tenant(t.Context(), "acme"); err != nil || len(got.Name) != writers*each {
		t.Errorf("%d changes were made, %v, want %d", len(got.Name), err, writers*each)
	}
}

func (s *suite) concurrentMakers(t *testing.T) {
	d := s.factory(t)
	var made atomic.Int32
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			switch err := d.CreateTenant(t.Context(), tenant.Tenant{ID: "acme", Name: fmt.Sprint(i)}); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, directory.ErrExists):
				t.Errorf("create: %v", err)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("%d made it", made.Load())
	}
}

func mustRevision(t tester, d directory.Directory) string {
	t.Helper()
	r, err := d.Revision(t.Context())
	if err != nil {
		t.Fatalf("revision: %v", err)
	}
	return r
}

func (s *suite) revision(t *testing.T) {
	d := s.factory(t)
	seen := map[string]bool{"": true}
	fresh := func(after string) {
		t.Helper()
		r := mustRevision(t, d)
		if seen[r] {
			t.Errorf("%s the revision is %q, as it was before", after, r)
		}
		seen[r] = true
		if again := mustRevision(t, d); again != r {
			t.Errorf("%s the revision changes by itself", after)
		}
	}
	mustCreate(t, d, tenant.Tenant{ID: "acme"})
	fresh("with a tenant")
	mustCreate(t, d, tenant.Tenant{ID: "beta"})
	fresh("with another")
	for _, suspended := range []bool{true, false} {
		if _, err := d.ChangeTenant(t.Context(), "acme", func(one *tenant.Tenant) error {
			one.Suspended = suspended
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		fresh("after a change")
	}
}
