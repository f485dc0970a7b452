// Package inmem keeps a directory in the process. It is for tests and single-process trials: nothing survives a
// restart, and replicas do not share it.
package inmem

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Directory is a directory.Directory in memory.
type Directory struct {
	mu      sync.Mutex
	changes int64 // of tenants
	tenants map[string]tenant.Tenant
	keys    map[access.Hash]access.Key
	ids     map[string]map[string]access.Hash // by tenant and id
}

var _ directory.Directory = (*Directory)(nil)

// New returns an empty directory.
func New() *Directory {
	return &Directory{tenants: map[string]tenant.Tenant{}, keys: map[access.Hash]access.Key{},
		ids: map[string]map[string]access.Hash{}}
}

// CreateTenant implements directory.Tenants.
func (d *Directory) CreateTenant(_ context.Context, t tenant.Tenant) error {
	if err := directory.ValidTenant(t); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.tenants[t.ID]; taken {
		return directory.ErrExists
	}
	d.tenants[t.ID] = t
	d.changes++
	return nil
}

// ChangeTenant implements directory.Tenants.
func (d *Directory) ChangeTenant(_ context.Context, id string, change directory.Change) (tenant.Tenant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.tenants[id]
	if !ok {
		return tenant.Tenant{}, directory.ErrNotFound
	}
	if err := change(&t); err != nil {
		return tenant.Tenant{}, err
	}
	t.ID = id
	d.tenants[id] = t
	d.changes++
	return t, nil
}

// Tenant implements directory.Tenants.
func (d *Directory) Tenant(_ context.Context, id string) (tenant.Tenant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.tenants[id]
	if !ok {
		return tenant.Tenant{}, directory.ErrNotFound
	}
	return t, nil
}

// Tenants implements directory.Tenants.
func (d *Directory) Tenants(context.Context) ([]tenant.Tenant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.tenants), func(a, b tenant.Tenant) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// Revision implements directory.Tenants.
func (d *Directory) Revision(context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changes == 0 {
		return "", nil
	}
	return strconv.FormatInt(d.changes, 10), nil
}

// CreateKey implements directory.Keys.
func (d *Directory) CreateKey(_ context.Context, k access.Key) error {
	if err := directory.Valid(k); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, hashTaken := d.keys[k.Hash]
	_, idTaken := d.ids[k.Tenant][k.ID]
	switch {
	case hashTaken, idTaken:
		return directory.ErrExists
	case len(d.ids[k.Tenant]) >= directory.MaxKeys:
		return directory.ErrTooMany
	}
	k = copied(k)
	k.CreatedAt, k.ExpiresAt, k.LastUsedAt = k.CreatedAt.UTC(), k.ExpiresAt.UTC(), time.Time{}
	d.keys[k.Hash] = k
	if d.ids[k.Tenant] == nil {
		d.ids[k.Tenant] = map[string]access.Hash{}
	}
	d.ids[k.Tenant][k.ID] = k.Hash
	return nil
}

// Keys implements directory.Keys.
func (d *Directory) Keys(_ context.Context, tenantID string) ([]access.Key, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []access.Key
	for _, h := range d.ids[tenantID] {
		out = append(out, copied(d.keys[h]))
	}
	slices.SortFunc(out, directory.Older)
	return out, nil
}

// KeyByHash implements directory.Keys.
func (d *Directory) KeyByHash(_ context.Context, h access.Hash) (access.Key, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.keys[h]
	if !ok {
		return access.Key{}, directory.ErrNotFound
	}
	return copied(k), nil
}

// RevokeKey implements directory.Keys.
func (d *Directory) RevokeKey(_ context.Context, tenantID, keyID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.ids[tenantID][keyID]
	if !ok {
		return directory.ErrNotFound
	}
	delete(d.keys, h)
	delete(d.ids[tenantID], keyID)
	return nil
}

// Touch implements directory.Keys.
func (d *Directory) Touch(_ context.Context, tenantID, keyID string, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.ids[tenantID][keyID]
	if !ok {
		return directory.ErrNotFound
	}
	k := d.keys[h]
	if at = at.UTC().Truncate(time.Millisecond); at.After(k.LastUsedAt) {
		k.LastUsedAt = at
		d.keys[h] = k
	}
	return nil
}

func copied(k access.Key) access.Key {
	k.Scopes = slices.Clone(k.Scopes)
	return k
}
