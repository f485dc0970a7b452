package directorytest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
)

// wantKeys wants a tenant's keys in their order, and each by its hash.
func wantKeys(t tester, d directory.Directory, tenantID string, want ...access.Key) {
	t.Helper()
	got, err := d.Keys(t.Context(), tenantID)
	if err != nil || len(got) != len(want) {
		t.Fatalf("keys of %s are %+v, %v, want %+v", tenantID, got, err, want)
	}
	for i, k := range want {
		if !reflect.DeepEqual(got[i], k) {
			t.Fatalf("key %d of %s is %+v, want %+v", i, tenantID, got[i], k)
		}
		if one, err := d.KeyByHash(t.Context(), k.Hash); err != nil || !reflect.DeepEqual(one, k) {
			t.Fatalf("key %s by its hash is %+v, %v, want %+v", k.ID, one, err, k)
		}
	}
}

func wantNoKey(t tester, d directory.Directory, h access.Hash) {
	t.Helper()
	if k, err := d.KeyByHash(t.Context(), h); !errors.Is(err, directory.ErrNotFound) {
		t.Fatalf("got key %s, %v, want none", k.ID, err)
	}
}

func (s *suite) noKeys(t *testing.T) {
	d := s.factory(t)
	wantKeys(t, d, "acme")
	wantNoKey(t, d, access.HashOf("x"))
	for what, err := range map[string]error{
		"revoke": d.RevokeKey(t.Context(), "acme", "k1"), "touch": d.Touch(t.Context(), "acme", "k1", noon),
	} {
		if !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	wantKeys(t, d, "acme")
}

func (s *suite) keys(t *testing.T) {
	d := s.factory(t)
	bare := access.Key{ID: "k1", Hash: access.HashOf("1"), Tenant: "acme", CreatedAt: noon}
	full := access.Key{
		ID: "k2", Hash: access.HashOf("2"), Tenant: "acme", User: "añe {x}\n", Name: "the phone's \"key\"",
		Scopes:    access.Scopes(),
		CreatedAt: noon.Add(time.Nanosecond), ExpiresAt: noon.Add(time.Hour + 7*time.Nanosecond),
	}
	local := full
	local.CreatedAt, local.ExpiresAt = full.CreatedAt.In(time.FixedZone("x", 3600)),
		full.ExpiresAt.In(time.FixedZone("x", -3600))
	local.LastUsedAt = noon // it has not been used
	mustCreateKeys(t, d, local, bare)
	wantKeys(t, d, "acme", bare, full)
}

func (s *suite) copies(t *testing.T) {
	d := s.factory(t)
	k := key("acme", "k1")
	mustCreateKeys(t, d, k)
	k.Scopes[0] = access.Admin
	for range 2 {
		got, err := d.KeyByHash(t.Context(), k.Hash)
		if err != nil {
			t.Fatal(err)
		}
		got.Scopes[0] = access.Admin
		all, err := d.Keys(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		all[0].Scopes[1] = access.Admin
	}
	wantKeys(t, d, "acme", key("acme", "k1"))
}

func (s *suite) order(t *testing.T) {
	d := s.factory(t)
	at := func(id string, after time.Duration) access.Key {
		k := key("acme", id)
		k.CreatedAt = noon.Add(after)
		return k
	}
	mustCreateKeys(t, d, at("b", 2), at("c", 1), at("a", 2), at("d", -time.Hour))
	wantKeys(t, d, "acme", at("d", -time.Hour), at("c", 1), at("a", 2), at("b", 2))
}

func (s *suite) keyTaken(t *testing.T) {
	d := s.factory(t)
	mustCreateKeys(t, d, key("acme", "k1"), key("beta", "k1")) // ids are unique per tenant only
	for name, spoil := range map[string]func(*access.Key){
		"the same key":           func(*access.Key) {},
		"its hash":               func(k *access.Key) { k.ID = "k2" },
		"its hash, by another":   func(k *access.Key) { k.ID, k.Tenant = "k2", "gamma" },
		"its id, another's hash": func(k *access.Key) { k.Hash = access.HashOf("other") },
	} {
		k := key("acme", "k1")
		spoil(&k)
		if err := d.CreateKey(t.Context(), k); !errors.Is(err, directory.ErrExists) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	wantKeys(t, d, "acme", key("acme", "k1"))
	wantKeys(t, d, "beta", key("beta", "k1"))
	wantKeys(t, d, "gamma")
	wantNoKey(t, d, access.HashOf("other"))
}

func (s *suite) expired(t *testing.T) {
	d := s.factory(t)
	k := key("acme", "k1")
	k.CreatedAt, k.ExpiresAt = time.Unix(1000, 0).UTC(), time.Unix(2000, 0).UTC()
	mustCreateKeys(t, d, k)
	wantKeys(t, d, "acme", k)
}

func (s *suite) revoke(t *testing.T) {
	d := s.factory(t)
	mustCreateKeys(t, d, key("acme", "k1"), key("acme", "k2"))
	if err := d.Touch(t.Context(), "acme", "k1", noon); err != nil {
		t.Fatal(err)
	}
	if err := d.RevokeKey(t.Context(), "acme", "k1"); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, d, "acme", key("acme", "k2"))
	wantNoKey(t, d, key("acme", "k1").Hash)
	if err := d.RevokeKey(t.Context(), "acme", "k1"); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("again: got %v", err)
	}
	mustCreateKeys(t, d, key("acme", "k1")) // no data of the first key is left
	wantKeys(t, d, "acme", key("acme", "k1"), key("acme", "k2"))
}

func (s *suite) isolation(t *testing.T) {
	d := s.factory(t)
	mine, ids := key("acme", "k1"), []string{"", "beta", "acme ", "ACME", "acm", "*", "acme:k1", "{acme}",
		strings.Repeat("a", 1000)}
	mustCreateKeys(t, d, mine)
	for _, other := range ids {
		wantKeys(t, d, other)
		if err := d.RevokeKey(t.Context(), other, "k1"); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("%q revokes: got %v", other, err)
		}
		if err := d.Touch(t.Context(), other, "k1", noon); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("%q touches: got %v", other, err)
		}
	}
	for _, id := range []string{"", "*", "K1", "k1 ", "k", "\x00", strings.Repeat("k", 1000)} {
		if err := d.RevokeKey(t.Context(), "acme", id); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("revoke %q: got %v", id, err)
		}
	}
	wantKeys(t, d, "acme", mine)
}

func (s *suite) tooMany(t *testing.T) {
	d := s.factory(t)
	for i := range directory.MaxKeys {
		mustCreateKeys(t, d, key("acme", fmt.Sprintf("k%04d", i)))
	}
	if err := d.CreateKey(t.Context(), key("acme", "more")); !errors.Is(err, directory.ErrTooMany) {
		t.Errorf("got %v", err)
	}
	if all, err := d.Keys(t.Context(), "acme"); err != nil || len(all) != directory.MaxKeys || all[7].ID != "k0007" {
		t.Errorf("there are %d, %v", len(all), err)
	}
	mustCreateKeys(t, d, key("beta", "k1"))
	if err := d.RevokeKey(t.Context(), "acme", "k0000"); err != nil {
		t.Fatal(err)
	}
	mustCreateKeys(t, d, key("acme", "more"))
}

func (s *suite) touch(t *testing.T) {
	d := s.factory(t)
	mustCreateKeys(t, d, key("acme", "k1"), key("acme", "k2"))
	used := func(at, want time.Time) {
		t.Helper()
		if err := d.Touch(t.Context(), "acme", "k1", at); err != nil {
			t.Fatalf("touch: %v", err)
		}
		k := key("acme", "k1")
		k.LastUsedAt = want
		wantKeys(t, d, "acme", k, key("acme", "k2"))
	}
	used(noon.Add(1_999_999*time.Nanosecond), noon.Add(time.Millisecond))
	used(noon, noon.Add(time.Millisecond))
	used(noon.Add(time.Hour).In(time.FixedZone("x", 3600)), noon.Add(time.Hour))
	used(noon.Add(time.Minute), noon.Add(time.Hour))
}

// touchRevoked uses keys while they are revoked: no data of them may be left.
func (s *suite) touchRevoked(t *testing.T) {
	const keys = 20
	d := s.factory(t)
	var group sync.WaitGroup
	for i := range keys {
		k := key("acme", fmt.Sprint("k", i))
		mustCreateKeys(t, d, k)
		group.Go(func() {
			for n := range 5 {
				if err := d.Touch(t.Context(), "acme", k.ID, noon.Add(time.Duration(n)*time.Second)); err != nil &&
					!errors.Is(err, directory.ErrNotFound) {
					t.Errorf("touch: %v", err)
				}
			}
		})
		group.Go(func() {
			if err := d.RevokeKey(t.Context(), "acme", k.ID); err != nil {
				t.Errorf("revoke: %v", err)
			}
		})
	}
	group.Wait()
	wantKeys(t, d, "acme")
	for i := range keys {
		k := key("acme", fmt.Sprint("k", i))
		wantNoKey(t, d, k.Hash)
		mustCreateKeys(t, d, k)
		if got, err := d.KeyByHash(t.Context(), k.Hash); err != nil || !got.LastUsedAt.IsZero() {
			t.Errorf("made anew: %+v, %v", got, err)
		}
	}
}
