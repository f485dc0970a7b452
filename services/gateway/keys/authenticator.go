// Package keys authenticates the gateway's API keys. It also makes, lists and revokes keys and tenants at run time.
package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

const (
	// fresh is how long an answer of the directory is used for a key.
	fresh = 2 * time.Second
	// remembered is of how many keys that is kept.
	remembered = 1 << 14
	// lookupTimeout is how long a call waits for the directory.
	lookupTimeout = time.Second
	// MaxAge is how old the directory's answer can be that Authenticate returns.
	MaxAge = fresh + lookupTimeout
)

// Tenants knows tenants, and the keys of the tenants file; *tenant.Registry is one.
type Tenants interface {
	// Authenticate returns the tenant that a key of the tenants file belongs to, tenant.ErrUnknownKey or
	// tenant.ErrSuspended.
	Authenticate(key string) (tenant.Tenant, error)
	// Lookup returns the tenant of an id, or a terminal error. The error is retryable if the answer is not
	// available now.
	Lookup(id string) (tenant.Tenant, error)
}

// Authenticator is a guard.Authenticator over the keys of the tenants file and of the directory. It is safe for
// concurrent use.
type Authenticator struct {
	tenants   Tenants
	directory directory.Keys
	now       func() time.Time
	known     *otter.Cache[access.Hash, answer]
	uses      *uses
}

var _ guard.Authenticator = (*Authenticator)(nil)

// answer is the directory's answer for a hash.
type answer struct {
	key   access.Key
	found bool
	// asked is the time of the request to the directory.
	asked time.Time
}

// New makes an authenticator. Its Run keeps when keys are used.
func New(tenants Tenants, d directory.Keys, now func() time.Time, log *slog.Logger) *Authenticator {
	return &Authenticator{
		tenants: tenants, directory: d, now: now, uses: newUses(d, log),
		known: otter.Must(&otter.Options[access.Hash, answer]{
			MaximumSize: remembered, Executor: func(task func()) { task() }, // no goroutines of its own
		}),
	}
}

// Authenticate implements guard.Authenticator. A key of the tenants file has all scopes. For a key of the directory,
// the answer is at most MaxAge old. If the directory is not available, the error is not tenant.ErrUnknownKey.
func (a *Authenticator) Authenticate(ctx context.Context, key string) (access.Principal, error) {
	h := access.HashOf(key)
	switch t, err := a.tenants.Authenticate(key); {
	case err == nil:
		return access.Principal{Tenant: t, KeyID: fmt.Sprintf("file-%x", h[:6]), Scopes: access.Scopes()}, nil
	case !errors.Is(err, tenant.ErrUnknownKey):
		return access.Principal{}, err
	}
	k, err := a.find(ctx, h)
	if err != nil {
		return access.Principal{}, err
	}
	now := a.now()
	if k.Expired(now) {
		return access.Principal{}, tenant.ErrUnknownKey
	}
	t, err := a.tenants.Lookup(k.Tenant)
	switch {
	case fault.IsTerminal(err): // its tenant is gone
		a.known.Set(h, answer{asked: now})
		return access.Principal{}, tenant.ErrUnknownKey
	case err != nil:
		return access.Principal{}, fmt.Errorf("tenant of the key: %w", err)
	case t.Suspended:
		return access.Principal{}, tenant.ErrSuspended
	}
	a.uses.note(k, now)
	return access.Principal{Tenant: t, KeyID: k.ID, User: k.User, Scopes: k.Scopes}, nil
}

// find returns the key of a hash, or tenant.ErrUnknownKey.
func (a *Authenticator) find(ctx context.Context, h access.Hash) (access.Key, error) {
	asked := a.now()
	said, ok := a.known.GetIfPresent(h)
	if age := asked.Sub(said.asked); !ok || age < 0 || age >= fresh {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		k, err := a.directory.KeyByHash(ctx, h)
		if err != nil && !errors.Is(err, directory.ErrNotFound) {
			return access.Key{}, fmt.Errorf("look up the key: %w", err)
		}
		said = answer{key: k, found: err == nil, asked: asked}
		a.known.Set(h, said)
	}
	if !said.found {
		return access.Key{}, tenant.ErrUnknownKey
	}
	return said.key, nil
}

// Run keeps when keys are used, until ctx is done; then it returns nil.
func (a *Authenticator) Run(ctx context.Context) error { return a.uses.run(ctx) }
