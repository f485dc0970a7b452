package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// maxTenantName bounds a tenant's name, in bytes.
const maxTenantName = 256

// Operator manages tenants and their keys for the operator of the service. Operators are not tenants: only the
// command line leads here. problem.From turns its errors into answers.
type Operator struct {
	Directory directory.Directory
	Now       func() time.Time
	// Lookup, if set, finds all tenants, also the tenants of the tenants file (tenant.Registry.Lookup). Then a
	// tenant of the file is not made again, and an unknown tenant gets no key.
	Lookup func(id string) (tenant.Tenant, error)
}

// TenantChange is a change of a tenant. A nil field stays unchanged. An empty strategy, policy, saliency or
// exploration is the default.
type TenantChange struct {
	Name      *string
	Strategy  *tenant.Strategy
	Policy    *tenant.Policy
	Saliency  *memory.SaliencyMode
	Explore   *tenant.Exploration
	TalkDays  *int
	Suspended *bool
}

// CreateTenant makes a tenant. Empty fields get their defaults, also in the returned tenant.
func (o *Operator) CreateTenant(ctx context.Context, t tenant.Tenant) (tenant.Tenant, error) {
	full, err := check(t)
	if err != nil {
		return tenant.Tenant{}, err
	}
	if o.Lookup != nil {
		if _, err := o.Lookup(t.ID); !fault.IsTerminal(err) {
			return tenant.Tenant{}, publicError("tenant", orExists(err))
		}
	}
	if err := o.Directory.CreateTenant(ctx, t); err != nil {
		return tenant.Tenant{}, publicError("tenant", err)
	}
	return full, nil
}

// orExists is err, or that there is one where a lookup went well.
func orExists(err error) error {
	if err == nil {
		return directory.ErrExists
	}
	return err
}

// ChangeTenant changes a tenant that was made at run time: one of the tenants file is not found. It returns the tenant
// as it is now.
func (o *Operator) ChangeTenant(ctx context.Context, id string, c TenantChange) (tenant.Tenant, error) {
	t, err := o.Directory.ChangeTenant(ctx, id, func(t *tenant.Tenant) error {
		set(&t.Name, c.Name)
		set(&t.Strategy, c.Strategy)
		set(&t.Policy, c.Policy)
		set(&t.Saliency, c.Saliency)
		set(&t.Explore, c.Explore)
		set(&t.TalkDays, c.TalkDays)
		set(&t.Suspended, c.Suspended)
		_, err := check(*t)
		return err
	})
	if err != nil {
		return tenant.Tenant{}, publicError("tenant that was made at run time", err)
	}
	return tenant.Check(t)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// SuspendTenant refuses a tenant's calls, or accepts them again. Turns accepted before still become memories.
func (o *Operator) SuspendTenant(ctx context.Context, id string, suspended bool) (tenant.Tenant, error) {
	return o.ChangeTenant(ctx, id, TenantChange{Suspended: &suspended})
}

// Tenants returns the tenants that were made at run time, by id.
func (o *Operator) Tenants(ctx context.Context) ([]tenant.Tenant, error) {
	all, err := o.Directory.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	for i, t := range all {
		if full, err := tenant.Check(t); err == nil { // one that cannot be used is shown as it is
			all[i] = full
		}
	}
	return all, nil
}

// CreateKey makes a key for a tenant from k (Tenant, User, Name, Scopes, ExpiresAt), with any scopes. It returns
// the key with its text, which is shown once and not stored.
func (o *Operator) CreateKey(ctx context.Context, k access.Key) (access.Key, string, error) {
	k, text, err := access.NewKey(k, o.Now())
	if err != nil {
		return access.Key{}, "", err
	}
	if o.Lookup != nil {
		if _, err := o.Lookup(k.Tenant); fault.IsTerminal(err) {
			return access.Key{}, "", publicError("tenant", directory.ErrNotFound)
		} else if err != nil {
			return access.Key{}, "", fmt.Errorf("tenant of the key: %w", err)
		}
	}
	if err := o.Directory.CreateKey(ctx, k); err != nil {
		return access.Key{}, "", publicError("key", err)
	}
	return k, text, nil
}

// Keys returns the keys of a tenant, the oldest first, without the keys of the tenants file. An unknown tenant
// without keys is an error.
func (o *Operator) Keys(ctx context.Context, tenantID string) ([]access.Key, error) {
	if err := memory.ValidTenant(tenantID); err != nil {
		return nil, err
	}
	all, err := o.Directory.Keys(ctx, tenantID)
	if err != nil || len(all) > 0 {
		return all, err
	}
	if o.Lookup == nil {
		_, err = o.Directory.Tenant(ctx, tenantID)
		return nil, publicError("tenant that was made at run time", err)
	}
	if _, err = o.Lookup(tenantID); fault.IsTerminal(err) {
		err = publicError("tenant", directory.ErrNotFound)
	}
	return nil, err
}

// RevokeKey removes a key of a tenant for good. It is refused everywhere within access.RevokedWithin.
func (o *Operator) RevokeKey(ctx context.Context, tenantID, id string) error {
	if err := memory.ValidTenant(tenantID); err != nil {
		return err
	}
	return publicError("key of the tenant", o.Directory.RevokeKey(ctx, tenantID, id))
}

// check returns a tenant with its defaults, or an error. The error does not repeat long values.
func check(t tenant.Tenant) (tenant.Tenant, error) {
	if t.Name != "" {
		if err := memory.ValidText("name", t.Name, maxTenantName); err != nil {
			return tenant.Tenant{}, err
		}
	}
	for _, f := range []struct{ field, value string }{
		{"id", t.ID}, {"strategy", string(t.Strategy)}, {"policy", string(t.Policy)}, {"saliency", string(t.Saliency)},
		{"explore", string(t.Explore)},
	} {
		if len(f.value) > memory.MaxTenantBytes {
			return tenant.Tenant{}, fault.Terminal(f.field, "is %d bytes long, want at most %d", len(f.value),
				memory.MaxTenantBytes)
		}
	}
	return tenant.Check(t)
}
