// Package directory is the port to tenants and API keys that are made, changed, suspended and revoked at run time. Package directorytest
// holds the conformance suite that every back-end passes.
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

// Errors of a directory. Others are retryable, but for terminal ones of Valid and ValidTenant.
var (
	// ErrExists says that the tenant's id, the key's id, or its hash, is taken.
	ErrExists = errors.New("exists already")
	// ErrNotFound says that there is no such tenant, or no such key of the tenant.
	ErrNotFound = errors.New("not found")
	// ErrTooMany says that a tenant has MaxKeys keys.
	ErrTooMany = errors.New("too many keys")
)

// MaxKeys is how many keys a tenant has at most, those that have expired included.
const MaxKeys = 1000

// Change makes a tenant another one. It may be called several times, each with the tenant as it is then; its error ends the change. The id
// stays what it is, whatever it says.
type Change func(*tenant.Tenant) error

// Tenants are those that are made at run time. They are kept as they are given: what is left out has its default where it is used
// (tenant.Check), so that it follows the tenant's strategy.
type Tenants interface {
	// CreateTenant adds a tenant, or returns ErrExists.
	CreateTenant(ctx context.Context, t tenant.Tenant) error
	// ChangeTenant changes a tenant, one change after another: none is lost to another at the same time. It returns the tenant as it is
	// now, or ErrNotFound, or the change's own error.
	ChangeTenant(ctx context.Context, id string, change Change) (tenant.Tenant, error)
	// Tenant returns a tenant, or ErrNotFound.
	Tenant(ctx context.Context, id string) (tenant.Tenant, error)
	// Tenants returns all tenants by ascending id; none is no error.
	Tenants(ctx context.Context) ([]tenant.Tenant, error)
	// Revision is another one after every change of any tenant, and never one that it was before. It is empty where there was none.
	Revision(ctx context.Context) (string, error)
}

// Keys are the keys of tenants, whether or not the tenants are of the directory, too.
type Keys interface {
	// CreateKey adds a key. It returns ErrExists where another one has its hash, or one of its tenant its id, and ErrTooMany where the
	// tenant has MaxKeys.
	CreateKey(ctx context.Context, k access.Key) error
	// Keys returns a tenant's keys, the oldest first, of those made at the same time the smaller id; none is no error.
	Keys(ctx context.Context, tenantID string) ([]access.Key, error)
	// KeyByHash returns a key, or ErrNotFound. One that has expired is still returned.
	KeyByHash(ctx context.Context, h access.Hash) (access.Key, error)
	// RevokeKey removes a tenant's key for good, or returns ErrNotFound; a key of another tenant is not found.
	RevokeKey(ctx context.Context, tenantID, keyID string) error
	// Touch keeps when a tenant's key was used last, in milliseconds. An earlier time than is known changes nothing. It returns
	// ErrNotFound, and makes nothing, where there is no such key.
	Touch(ctx context.Context, tenantID, keyID string, at time.Time) error
}

// Directory is the whole port. Implementations are safe for concurrent use, and by several processes where the back-end is shared. Times
// are in UTC. What is passed in is not kept, and what is returned is the caller's.
type Directory interface {
	Tenants
	Keys
}

// Valid returns a terminal error for a key that no directory takes: one without id, tenant or hash.
func Valid(k access.Key) error {
	switch {
	case k.ID == "":
		return fault.Terminal("id", "is empty")
	case k.Tenant == "":
		return fault.Terminal("tenant_id", "is empty")
	case k.Hash == access.Hash{}, k.Hash == access.HashOf(""):
		return fault.Terminal("hash", "is that of no key")
	}
	return nil
}

// ValidTenant returns a terminal error for a tenant that no directory takes: one without id.
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
