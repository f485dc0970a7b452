// Package directory is the port to tenants and API keys that are created, changed, suspended and revoked at run time.
// Package directorytest has the conformance suite that every store passes.
package directory

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Errors of a directory. Others are retryable, except the terminal errors of Valid and ValidTenant.
var (
	// ErrExists means that the tenant's id, the key's id, or its hash, is in use.
	ErrExists = errors.New("already exists")
	// ErrNotFound means that there is no such tenant, or no such key of the tenant.
	ErrNotFound = errors.New("not found")
	// ErrTooMany means that a tenant has MaxKeys keys.
	ErrTooMany = errors.New("too many keys")
)

// MaxKeys is the maximum number of keys per tenant, including expired ones.
const MaxKeys = 1000

// Change modifies a tenant. It may be called several times, each with the current tenant. Its error stops the change.
// The id stays unchanged, even if Change sets it.
type Change func(*tenant.Tenant) error

// Tenants are the tenants created at run time. They are stored without defaults. A missing value gets its default at
// its use (tenant.Check), so that it follows the tenant's strategy.
type Tenants interface {
	// CreateTenant adds a tenant, or returns ErrExists.
	CreateTenant(ctx context.Context, t tenant.Tenant) error
	// ChangeTenant changes a tenant. Concurrent changes run one after another, and none is lost. It returns the
	// changed tenant, or ErrNotFound, or the error of change.
	ChangeTenant(ctx context.Context, id string, change Change) (tenant.Tenant, error)
	// Tenant returns a tenant, or ErrNotFound.
	Tenant(ctx context.Context, id string) (tenant.Tenant, error)
	// Tenants returns all tenants by ascending id. An empty result is no error.
	Tenants(ctx context.Context) ([]tenant.Tenant, error)
	// Revision differs after every change of any tenant, and never repeats. It is empty before the first change.
	Revision(ctx context.Context) (string, error)
}

// Keys are the keys of tenants, including tenants outside the directory.
type Keys interface {
	// CreateKey adds a key. It returns ErrExists if another key has its hash, or a key of the tenant has its id. It
	// returns ErrTooMany if the tenant has MaxKeys.
	CreateKey(ctx context.Context, k access.Key) error
	// Keys returns a tenant's keys, oldest first. Keys of the same time are ordered by id. An empty result is no
	// error.
	Keys(ctx context.Context, tenantID string) ([]access.Key, error)
	// KeyByHash returns a key, or ErrNotFound. It returns an expired key, too.
	KeyByHash(ctx context.Context, h access.Hash) (access.Key, error)
	// RevokeKey removes a tenant's key for good, or returns ErrNotFound. It does not find a key of another tenant.
	RevokeKey(ctx context.Context, tenantID, keyID string) error
	// Touch records the last use of a tenant's key, in milliseconds. An earlier time than the recorded one changes
	// nothing. If there is no such key, it returns ErrNotFound and creates nothing.
	Touch(ctx context.Context, tenantID, keyID string, at time.Time) error
}

// Directory is the whole port. Implementations are safe for concurrent use, and by several processes if the store is
// shared. Times are in UTC. A directory does not keep passed values, and the caller owns the returned ones.
type Directory interface {
	Tenants
	Keys
}

// Valid returns a terminal error for a key that no directory accepts: one without id, tenant or hash.
func Valid(k access.Key) error {
	switch {
	case k.ID == "":
		return fault.Terminal("id", "is empty")
	case k.Tenant == "":
		return fault.Terminal("tenant_id", "is empty")
	case k.Hash == access.Hash{}, k.Hash == access.HashOf(""):
		return fault.Terminal("hash", "is empty, or the hash of an empty key")
	}
	return nil
}

// ValidTenant returns a terminal error for a tenant that no directory accepts: one without id.
func ValidTenant(t tenant.Tenant) error {
	if t.ID == "" {
		return fault.Terminal("id", "is empty")
	}
	return nil
}

// Older is the order of a tenant's keys, for slices.SortFunc.
func Older(a, b access.Key) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}
