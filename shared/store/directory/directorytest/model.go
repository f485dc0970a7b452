package directorytest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
)

// model is the expected directory of keys: a list.
type model struct{ keys []access.Key }

func (m *model) at(tenantID, id string) int {
	return slices.IndexFunc(m.keys, func(k access.Key) bool { return k.Tenant == tenantID && k.ID == id })
}

func (m *model) create(k access.Key) error {
	if m.at(k.Tenant, k.ID) >= 0 || slices.ContainsFunc(m.keys, func(other access.Key) bool {
		return other.Hash == k.Hash
	}) {
		return directory.ErrExists
	}
	m.keys = append(m.keys, k)
	return nil
}

func (m *model) revoke(tenantID, id string) error {
	i := m.at(tenantID, id)
	if i < 0 {
		return directory.ErrNotFound
	}
	m.keys = slices.Delete(m.keys, i, i+1)
	return nil
}

func (m *model) touch(tenantID, id string, at time.Time) error {
	i := m.at(tenantID, id)
	if i < 0 {
		return directory.ErrNotFound
	}
	if at.After(m.keys[i].LastUsedAt) {
		m.keys[i].LastUsedAt = at
	}
	return nil
}

func (m *model) of(tenantID string) []access.Key {
	var out []access.Key
	for _, k := range m.keys {
		if k.Tenant == tenantID {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, directory.Older)
	return out
}

// model applies the same calls to a directory and to a list.
func (s *suite) model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, m := s.factory(t), &model{}
		tenants, ids := []string{"acme", "beta"}, []string{"k1", "k2", "k3"}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			tenantID, id := rapid.SampledFrom(tenants).Draw(rt, "tenant"), rapid.SampledFrom(ids).Draw(rt, "id")
			at := noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(rt, "at")) * time.Second)
			var got, want error
			switch step := rapid.SampledFrom([]string{"create", "revoke", "touch"}).Draw(rt, "step"); step {
			case "create":
				k := key(tenantID, id)
				k.CreatedAt, k.Hash = at, access.HashOf(rapid.SampledFrom(append(ids, tenantID+id)).Draw(rt, "text"))
				got, want = d.CreateKey(t.Context(), k), m.create(k)
			case "revoke":
				got, want = d.RevokeKey(t.Context(), tenantID, id), m.revoke(tenantID, id)
			case "touch":
				got, want = d.Touch(t.Context(), tenantID, id, at), m.touch(tenantID, id, at)
			}
			if !errors.Is(got, want) {
				rt.Fatalf("got %v, want %v", got, want)
			}
			for _, one := range tenants {
				wantKeys(rt, d, one, m.of(one)...)
			}
		}
	})
}
