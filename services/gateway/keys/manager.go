package keys

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
)

// Manager manages the keys of the calling tenant. All methods need access.Admin. problem.From turns the errors
// into answers. Keys of the tenants file belong to the operator and are not listed.
type Manager struct {
	Directory directory.Keys
	Now       func() time.Time
}

// Create makes a key for the caller's tenant from k (User, Name, Scopes, ExpiresAt). It returns the key with its
// text, which clients see once and Mneme does not store. The key cannot have a scope that the caller lacks.
func (m *Manager) Create(ctx context.Context, k access.Key) (access.Key, string, error) {
	p, err := admin(ctx)
	if err != nil {
		return access.Key{}, "", err
	}
	k.Tenant = p.Tenant.ID
	k, text, err := access.NewKey(k, m.Now())
	if err != nil {
		return access.Key{}, "", err
	}
	for _, s := range k.Scopes {
		if err := p.Allow(s, ""); err != nil {
			return access.Key{}, "", connect.NewError(connect.CodePermissionDenied,
				fmt.Errorf("make a key with the scope %s: %w", s, err))
		}
	}
	if err := m.Directory.CreateKey(ctx, k); err != nil {
		return access.Key{}, "", publicError("key", err)
	}
	return k, text, nil
}

// List returns the keys of the caller's tenant, the oldest first.
func (m *Manager) List(ctx context.Context) ([]access.Key, error) {
	p, err := admin(ctx)
	if err != nil {
		return nil, err
	}
	return m.Directory.Keys(ctx, p.Tenant.ID)
}

// Revoke removes a key of the caller's tenant for good. It is refused everywhere within access.RevokedWithin.
func (m *Manager) Revoke(ctx context.Context, id string) error {
	p, err := admin(ctx)
	if err != nil {
		return err
	}
	return publicError("key", m.Directory.RevokeKey(ctx, p.Tenant.ID, id))
}

// admin returns the caller, who may manage the tenant.
func admin(ctx context.Context) (access.Principal, error) {
	if err := backend.Check(ctx, access.Admin, ""); err != nil {
		return access.Principal{}, err
	}
	p, _ := access.FromContext(ctx) // checked
	return p, nil
}

// publicError turns a directory error about a thing into the caller's error. nil stays nil.
func publicError(what string, err error) error {
	switch {
	case errors.Is(err, directory.ErrNotFound):
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no such %s", what))
	case errors.Is(err, directory.ErrExists):
		return connect.NewError(connect.CodeAlreadyExists, fmt.Errorf("the %s exists already", what))
	case errors.Is(err, directory.ErrTooMany):
		return problem.Problem{
			Status: http.StatusConflict, Code: problem.CodeManyKeys,
			Detail: fmt.Sprintf("the tenant has %d keys, which is the maximum: revoke some", directory.MaxKeys),
		}
	}
	return err
}
