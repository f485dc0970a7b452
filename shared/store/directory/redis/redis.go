// Package redis keeps the directory of tenants and API keys in Redis or Valkey, version 7.0 or later, alone or as a
// cluster.
//
// All keys share one hash tag, so that a cluster keeps them on one node and one script can change them. A directory
// is small, and frequent readers cache its answers for a while. It stores API keys only as SHA-256 hashes.
package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// DefaultPrefix is the default prefix of a directory's keys.
const DefaultPrefix = "mneme:directory:"

// tag follows the prefix. The text between the braces determines the node of a cluster.
const tag = "{directory}:"

// Options configure a directory.
type Options struct {
	// Prefix is the prefix of every key; empty means DefaultPrefix. It must not contain braces.
	Prefix string
}

// Directory is a directory.Directory in Redis. Errors of the connection or the server are retryable.
type Directory struct {
	client  goredis.UniversalClient
	tag     string
	scripts scripts
}

var _ directory.Directory = (*Directory)(nil)

// New returns a directory over a client. The caller closes the client. New sends no command.
func New(client goredis.UniversalClient, o Options) (*Directory, error) {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("directory prefix %q contains a brace, want none: braces mark the hash tag", o.Prefix)
	}
	return &Directory{client: client, tag: o.Prefix + tag, scripts: newScripts()}, nil
}

// The keys: tenants by id, their revision, keys by hash, last uses by hash, and hashes by id for each tenant.
func (d *Directory) tenantsKey() string            { return d.tag + "tenants" }
func (d *Directory) revisionKey() string           { return d.tag + "revision" }
func (d *Directory) keysKey() string               { return d.tag + "keys" }
func (d *Directory) usedKey() string               { return d.tag + "used" }
func (d *Directory) idsKey(tenantID string) string { return d.tag + "ids:" + tenantID }

// revision returns a new, unique revision.
func revision() string { return rand.Text() }

// CreateTenant implements directory.Tenants.
func (d *Directory) CreateTenant(ctx context.Context, t tenant.Tenant) error {
	if err := directory.ValidTenant(t); err != nil {
		return err
	}
	body, err := encodeTenant(t)
	if err != nil {
		return err
	}
	done, err := d.scripts.create.Run(ctx, d.client, []string{d.tenantsKey(), d.revisionKey()}, t.ID, body,
		revision()).Bool()
	if err != nil {
		return fmt.Errorf("create tenant: %w", err)
	}
	if !done {
		return directory.ErrExists
	}
	return nil
}

// ChangeTenant implements directory.Tenants. After a conflict it repeats the change from the new state.
func (d *Directory) ChangeTenant(ctx context.Context, id string, change directory.Change) (tenant.Tenant, error) {
	for {
		before, t, err := d.tenant(ctx, id)
		if err != nil {
			return tenant.Tenant{}, err
		}
		if err := change(&t); err != nil {
			return tenant.Tenant{}, err
		}
		t.ID = id
		body, err := encodeTenant(t)
		if err != nil {
			return tenant.Tenant{}, err
		}
		keys := []string{d.tenantsKey(), d.revisionKey()}
		done, err := d.scripts.change.Run(ctx, d.client, keys, id, before, body, revision()).Bool()
		if err != nil {
			return tenant.Tenant{}, fmt.Errorf("change tenant: %w", err)
		}
		if done {
			return t, nil
		}
	}
}

// Tenant implements directory.Tenants.
func (d *Directory) Tenant(ctx context.Context, id string) (tenant.Tenant, error) {
	_, t, err := d.tenant(ctx, id)
	return t, err
}

// tenant returns a tenant with its stored body.
func (d *Directory) tenant(ctx context.Context, id string) (body string, t tenant.Tenant, err error) {
	body, err = d.client.HGet(ctx, d.tenantsKey(), id).Result()
	if errors.Is(err, goredis.Nil) {
		return "", tenant.Tenant{}, directory.ErrNotFound
	}
	if err != nil {
		return "", tenant.Tenant{}, fmt.Errorf("read tenant: %w", err)
	}
	t, err = decodeTenant(id, body)
	return body, t, err
}

// Tenants implements directory.Tenants.
func (d *Directory) Tenants(ctx context.Context) ([]tenant.Tenant, error) {
	bodies, err := d.client.HGetAll(ctx, d.tenantsKey()).Result()
	if err != nil {
		return nil, fmt.Errorf("read tenants: %w", err)
	}
	out := make([]tenant.Tenant, 0, len(bodies))
	for id, body := range bodies {
		t, err := decodeTenant(id, body)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b tenant.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Revision implements directory.Tenants.
func (d *Directory) Revision(ctx context.Context) (string, error) {
	r, err := d.client.Get(ctx, d.revisionKey()).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return "", fmt.Errorf("read revision of tenants: %w", err)
	}
	return r, nil
}

// CreateKey implements directory.Keys.
func (d *Directory) CreateKey(ctx context.Context, k access.Key) error {
	if err := directory.Valid(k); err != nil {
		return err
	}
	body, err := encodeKey(k)
	if err != nil {
		return err
	}
	keys := []string{d.keysKey(), d.idsKey(k.Tenant)}
	n, err := d.scripts.add.Run(ctx, d.client, keys, hex.EncodeToString(k.Hash[:]), k.ID, body, directory.MaxKeys).Int()
	switch {
	case err != nil:
		return fmt.Errorf("create key: %w", err)
	case n == exists:
		return directory.ErrExists
	case n == tooMany:
		return directory.ErrTooMany
	}
	return nil
}

// Keys implements directory.Keys. It omits a key that is revoked during the read.
func (d *Directory) Keys(ctx context.Context, tenantID string) ([]access.Key, error) {
	hashes, err := d.client.HVals(ctx, d.idsKey(tenantID)).Result()
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	found, err := d.read(ctx, hashes)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, directory.Older)
	return found, nil
}

// KeyByHash implements directory.Keys.
func (d *Directory) KeyByHash(ctx context.Context, h access.Hash) (access.Key, error) {
	found, err := d.read(ctx, []string{hex.EncodeToString(h[:])})
	if err != nil {
		return access.Key{}, err
	}
	if len(found) == 0 {
		return access.Key{}, directory.ErrNotFound
	}
	return found[0], nil
}

// read returns the existing keys of hashes.
func (d *Directory) read(ctx context.Context, hashes []string) ([]access.Key, error) {
	pipe := d.client.Pipeline()
	bodies, used := pipe.HMGet(ctx, d.keysKey(), hashes...), pipe.HMGet(ctx, d.usedKey(), hashes...)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	var out []access.Key
	for i, h := range hashes {
		body, ok := bodies.Val()[i].(string)
		if !ok {
			continue
		}
		at, _ := used.Val()[i].(string) // nil: never
		k, err := decodeKey(h, body, at)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// RevokeKey implements directory.Keys.
func (d *Directory) RevokeKey(ctx context.Context, tenantID, keyID string) error {
	done, err := d.scripts.revoke.Run(ctx, d.client, []string{d.keysKey(), d.idsKey(tenantID), d.usedKey()}, keyID).Bool()
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	if !done {
		return directory.ErrNotFound
	}
	return nil
}

// Touch implements directory.Keys.
func (d *Directory) Touch(ctx context.Context, tenantID, keyID string, at time.Time) error {
	ms := strconv.FormatInt(at.UnixMilli(), 10)
	done, err := d.scripts.touch.Run(ctx, d.client, []string{d.idsKey(tenantID), d.usedKey()}, keyID, ms).Bool()
	if err != nil {
		return fmt.Errorf("touch key: %w", err)
	}
	if !done {
		return directory.ErrNotFound
	}
	return nil
}
