package rpcauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/tenant"
)

var (
	errNoTenant  = errors.New("the call has the services' secret, but no " + tenant.Header + " header")
	errKeyInside = errors.New("this service accepts calls of other services only: send calls with an API key to " +
		"the gateway")
)

// Directory finds tenants by their id; *tenant.Registry is one.
type Directory interface {
	// Lookup returns the tenant of an id, or a terminal error. The error is retryable when the answer is not known
	// at the moment.
	Lookup(id string) (tenant.Tenant, error)
}

// Inside holds the settings for calls between services.
type Inside struct {
	// Secret is the secret that services send each other. Without a secret every call needs a tenant's key.
	Secret config.Secret
	// Keys says whether a service with a secret also accepts calls with a tenant's key.
	Keys bool
	// Tenants are the tenants that a service may call for.
	Tenants Directory
}

// trusts reports whether a key is the services' secret.
func (i Inside) trusts(key string) bool {
	return i.Secret != "" && subtle.ConstantTimeCompare([]byte(key), []byte(i.Secret.Reveal())) == 1
}

// tenant returns the tenant that another service calls for.
func (i Inside) tenant(header http.Header) (tenant.Tenant, error) {
	id := header.Get(tenant.Header)
	if id == "" {
		return tenant.Tenant{}, refuse(errNoTenant)
	}
	t, err := i.Tenants.Lookup(id)
	if err != nil && !fault.IsTerminal(err) {
		return tenant.Tenant{}, connect.NewError(connect.CodeUnavailable, fmt.Errorf("%s: %w", tenant.Header, err))
	}
	if err != nil {
		return tenant.Tenant{}, connect.NewError(connect.CodeNotFound, fmt.Errorf("%s: %w", tenant.Header, err))
	}
	return t, nil
}

// Internal returns the client side of calls between services. A call carries the secret, and the tenant of its
// context (tenant.FromContext). A unary call without a tenant is refused before it is sent.
func Internal(secret config.Secret) connect.Interceptor { return internal{secret} }

type internal struct{ secret config.Secret }

func (i internal) attach(ctx context.Context, header http.Header) error {
	t, ok := tenant.FromContext(ctx)
	if !ok {
		return connect.NewError(connect.CodeUnauthenticated, errors.New("no tenant: the call carries no credential"))
	}
	header.Set(headerName, scheme+" "+i.secret.Reveal())
	header.Set(tenant.Header, t.ID)
	return nil
}

func (i internal) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if err := i.attach(ctx, req.Header()); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

func (i internal) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		_ = i.attach(ctx, conn.RequestHeader()) // without a tenant the other side refuses the call
		return conn
	}
}

func (internal) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
