package access_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func TestNewKey(t *testing.T) {
	k, text, err := access.NewKey(access.Key{Tenant: "acme"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, "mneme_"+k.ID+"_") || len(text) != 6+16+1+32 || access.HashOf(text) != k.Hash {
		t.Errorf("key %q with id %q", text, k.ID)
	}
	if strings.Contains(fmt.Sprintf("%+v", k), text) {
		t.Error("a printed key shows its text")
	}
	usual := []access.Scope{access.Ingest, access.Recall, access.Read, access.Erase}
	if !slices.Equal(k.Scopes, usual) || !k.CreatedAt.Equal(now.Truncate(time.Second)) {
		t.Errorf("got %+v", k)
	}
	of, _, err := access.NewKey(access.Key{Tenant: "acme", User: "ines"}, now)
	if err != nil || !slices.Equal(of.Scopes, usual[:3]) || of.ID == k.ID || of.Hash == k.Hash {
		t.Errorf("got %+v, %v", of, err)
	}
}

func TestNewKeyRefuses(t *testing.T) {
	for field, k := range map[string]access.Key{
		"tenant_id":  {Tenant: "Acme!"},
		"user_id":    {Tenant: "acme", User: strings.Repeat("u", 257)},
		"name":       {Tenant: "acme", Name: strings.Repeat("n", 129)},
		"scopes":     {Tenant: "acme", Scopes: []access.Scope{"root"}},
		"expires_at": {Tenant: "acme", ExpiresAt: now},
	} {
		if _, _, err := access.NewKey(k, now); fault.Field(err) != field {
			t.Errorf("%+v: got %v, want one about %s", k, err, field)
		}
	}
	if _, _, err := access.NewKey(access.Key{Tenant: "acme", User: "ines\u200b"}, now); fault.Field(err) != "user_id" {
		t.Errorf("a user with a hidden character: %v", err)
	}
	for _, k := range []access.Key{
		{Tenant: "acme", Scopes: []access.Scope{access.Read, access.Read}},
		{Tenant: "acme", User: "ines", Scopes: []access.Scope{access.Admin}},
	} {
		if _, _, err := access.NewKey(k, now); fault.Field(err) != "scopes" {
			t.Errorf("%+v: got %v", k, err)
		}
	}
}

func TestNewKeyRefusesWhatCannotBeKept(t *testing.T) {
	for want, k := range map[string]access.Key{
		"name: is not valid UTF-8":           {Tenant: "acme", Name: "\xff"},
		"name: contains a NUL":               {Tenant: "acme", Name: "a\x00"},
		"expires_at: is after the year":      {Tenant: "acme", ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"user_id: is not valid UTF-8":        {Tenant: "acme", User: "\xff"},
		"scopes: has \"\", want some of ing": {Tenant: "acme", Scopes: []access.Scope{""}},
	} {
		if _, _, err := access.NewKey(k, now); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", k, err, want)
		}
	}
}

func TestExpired(t *testing.T) {
	for at, want := range map[time.Time]bool{{}: false, now: true, now.Add(1): false, now.Add(-1): true} {
		if got := (access.Key{ExpiresAt: at}).Expired(now); got != want {
			t.Errorf("a key until %s is expired: %t", at, got)
		}
	}
}

func TestAllow(t *testing.T) {
	all := access.Principal{Tenant: tenant.Tenant{ID: "acme"}, Scopes: []access.Scope{access.Read}}
	one := all
	one.User = "ines"
	for _, c := range []struct {
		p    access.Principal
		s    access.Scope
		user string
		ok   bool
	}{
		{all, access.Read, "ines", true}, {all, access.Read, "", true}, {all, access.Erase, "ines", false},
		{one, access.Read, "ines", true}, {one, access.Read, "Ines", false}, {one, access.Read, "ben", false},
		{one, access.Read, "", false},
		{access.Principal{}, access.Read, "", false},
	} {
		if err := c.p.Allow(c.s, c.user); (err == nil) != c.ok || err != nil && !errors.Is(err, access.ErrForbidden) {
			t.Errorf("%+v %s of %q: got %v", c.p, c.s, c.user, err)
		}
	}
}

func TestContext(t *testing.T) {
	if _, ok := access.FromContext(t.Context()); ok {
		t.Error("somebody calls")
	}
	ctx := access.NewContext(t.Context(), access.Principal{Tenant: tenant.Tenant{ID: "acme"}, KeyID: "k"})
	p, ok := access.FromContext(ctx)
	of, known := tenant.FromContext(ctx)
	if !ok || !known || p.KeyID != "k" || of.ID != "acme" {
		t.Errorf("got %+v, %+v", p, of)
	}
}
