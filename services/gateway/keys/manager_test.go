package keys_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/store/directory/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

var noon = time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

// as is a call by a tenant's key.
func as(t *testing.T, tenantID string, scopes ...access.Scope) context.Context {
	t.Helper()
	return access.NewContext(t.Context(), access.Principal{Tenant: tenant.Tenant{ID: tenantID}, KeyID: "k",
		Scopes: scopes})
}

// wantProblem expects an error with this status and these words for clients.
func wantProblem(t *testing.T, err error, status int, words string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want %d with %q", status, words)
	}
	if p := problem.From(err); p.Status != status || !strings.Contains(p.Error(), words) {
		t.Fatalf("got %d with %q, want %d with %q", p.Status, p.Error(), status, words)
	}
}

func TestATenantManagesItsKeys(t *testing.T) {
	d := inmem.New()
	m := &keys.Manager{Directory: d, Now: atNoon}
	ctx, other := as(t, "acme", access.Scopes()...), as(t, "beta", access.Scopes()...)
	k, text, err := m.Create(ctx, access.Key{Tenant: "beta", Name: "phone", User: "ines", ExpiresAt: noon.Add(time.Hour)})
	if err != nil || k.Tenant != "acme" || k.User != "ines" || k.Name != "phone" || access.HashOf(text) != k.Hash {
		t.Fatalf("got %+v, %v", k, err)
	}
	all, err := m.List(ctx)
	if err != nil || len(all) != 1 || all[0].ID != k.ID || strings.Contains(fmt.Sprintf("%+v", all), text) {
		t.Errorf("listed %+v, %v", all, err)
	}
	if all, err := m.List(other); err != nil || len(all) != 0 {
		t.Errorf("another tenant lists %+v, %v", all, err)
	}
	wantProblem(t, m.Revoke(other, k.ID), http.StatusNotFound, "no such key")
	if err := m.Revoke(ctx, k.ID); err != nil {
		t.Error(err)
	}
	wantProblem(t, m.Revoke(ctx, k.ID), http.StatusNotFound, "no such key")
}

func TestAKeyGrantsNoMoreThanItsMakerHas(t *testing.T) {
	d := inmem.New()
	m := &keys.Manager{Directory: d, Now: atNoon}
	ctx := as(t, "acme", access.Admin, access.Read, access.Recall)
	for _, scopes := range [][]access.Scope{{access.Read}, {access.Admin, access.Recall}} {
		if k, _, err := m.Create(ctx, access.Key{Scopes: scopes}); err != nil || !slices.Equal(k.Scopes, scopes) {
			t.Errorf("%v: got %+v, %v", scopes, k, err)
		}
	}
	for _, scopes := range [][]access.Scope{nil, {access.Ingest}, {access.Read, access.Erase}} { // none are the usual ones
		_, _, err := m.Create(ctx, access.Key{Scopes: scopes})
		wantProblem(t, err, http.StatusForbidden, "lacks the scope")
	}
	if all, err := d.Keys(t.Context(), "acme"); err != nil || len(all) != 2 {
		t.Errorf("%d keys were made, %v", len(all), err)
	}
}

func TestManagingKeysNeedsTheScope(t *testing.T) {
	m := &keys.Manager{Directory: inmem.New(), Now: atNoon}
	bound := access.NewContext(t.Context(), access.Principal{Tenant: tenant.Tenant{ID: "acme"}, User: "ines",
		Scopes: access.Scopes()})
	for status, contexts := range map[int][]context.Context{
		http.StatusUnauthorized: {t.Context()},
		http.StatusForbidden: {as(t, "acme", access.Ingest, access.Recall, access.Read, access.Erase), as(t, "acme"),
			bound},
	} {
		for _, ctx := range contexts {
			_, _, err := m.Create(ctx, access.Key{})
			wantProblem(t, err, status, "API key")
			_, err = m.List(ctx)
			wantProblem(t, err, status, "API key")
			wantProblem(t, m.Revoke(ctx, "k"), status, "API key")
		}
	}
}

func TestKeysThatCannotBe(t *testing.T) {
	m := &keys.Manager{Directory: inmem.New(), Now: atNoon}
	ctx := as(t, "acme", access.Scopes()...)
	for words, k := range map[string]access.Key{
		"user_id":    {User: "\xff"},
		"name":       {Name: strings.Repeat("n", 129)},
		"scopes":     {Scopes: []access.Scope{"root"}},
		"expires_at": {ExpiresAt: noon},
	} {
		_, _, err := m.Create(ctx, k)
		wantProblem(t, err, http.StatusBadRequest, words)
		if p := problem.From(err); p.Field != words {
			t.Errorf("%s: the field is %q", words, p.Field)
		}
	}
	for range directory.MaxKeys {
		if _, _, err := m.Create(ctx, access.Key{}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := m.Create(ctx, access.Key{})
	wantProblem(t, err, http.StatusConflict, "1000 keys")
}

// away is a directory that cannot be reached.
type away struct{ directory.Directory }

func (away) CreateKey(context.Context, access.Key) error { return errAway }

func (away) CreateTenant(context.Context, tenant.Tenant) error { return errAway }

func TestADirectoryThatIsAwayIsNoAnswer(t *testing.T) {
	_, _, err := (&keys.Manager{Directory: away{}, Now: atNoon}).Create(as(t, "acme", access.Scopes()...), access.Key{})
	if !errors.Is(err, errAway) {
		t.Errorf("create key: got %v", err)
	}
	_, err = (&keys.Operator{Directory: away{}, Now: atNoon}).CreateTenant(t.Context(), tenant.Tenant{ID: "acme"})
	if !errors.Is(err, errAway) {
		t.Errorf("create tenant: got %v", err)
	}
}
