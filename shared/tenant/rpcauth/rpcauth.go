// Package rpcauth authenticates calls by API key: `Authorization: Bearer KEY`. The server side puts the tenant into
// the context. The client side passes the caller's key on to the next service. So a service needs no separate key
// to act for a tenant. Services that trust each other show a secret instead, and name the tenant.
package rpcauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/tenant"
)

const (
	headerName = "Authorization"
	scheme     = "Bearer"
)

// The reasons for refusal. They never repeat the sent key, because it may be a key with a typing error.
var (
	errMissing = errors.New("the Authorization header is missing, want `Authorization: Bearer KEY` with the API key of " +
		"your tenant")
	errSeveral = errors.New("the request has several Authorization headers, want one `Authorization: Bearer KEY`")
	errScheme  = errors.New("the Authorization header is not of the form `Bearer KEY`")
	errUnknown = errors.New("the API key is not known: check that it is complete and has not been revoked")
)

// Authenticator finds the tenant of an API key; *tenant.Registry is one. It returns tenant.ErrUnknownKey for an
// unknown key, and tenant.ErrSuspended for a suspended tenant. The caller sees the text of any other error, with a
// request to try again.
type Authenticator interface {
	// Authenticate returns the tenant that holds the key.
	Authenticate(key string) (tenant.Tenant, error)
}

// Require returns the server side: a handler before connect's own. The context of an accepted call carries the
// tenant (tenant.FromContext). A call needs a known key, or the secret of a service inside and a tenant. Other
// calls are refused as unauthenticated, in the protocol of the caller, before a byte of the body is read. The
// function refused, if not nil, gets the code of every refused call.
func Require(
	auth Authenticator, inside Inside, next http.Handler, refused func(context.Context, connect.Code),
) http.Handler {
	errs := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := authenticate(r.Context(), auth, inside, r.Header)
		if err == nil {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		code := connect.CodeOf(err)
		if refused != nil {
			refused(r.Context(), code)
		}
		if code == connect.CodeUnauthenticated {
			w.Header().Set("WWW-Authenticate", scheme) // as a header in gRPC, too: it is not allowed among trailers
		}
		if r.ProtoMajor == 1 && r.Body != http.NoBody {
			w.Header().Set("Connection", "close") // the body stays unread; in HTTP/2 it would end other calls of the connection
		}
		_ = errs.Write(w, r, err) // the caller has gone
	})
}

// authenticate returns ctx with the tenant and the caller's credential.
func authenticate(ctx context.Context, auth Authenticator, inside Inside, header http.Header) (context.Context, error) {
	key, err := bearer(header)
	if err != nil {
		return nil, refuse(err)
	}
	if inside.trusts(key) {
		t, err := inside.tenant(header)
		if err != nil {
			return nil, err
		}
		return withCredential(tenant.NewContext(ctx, t), credential{key, t.ID}), nil
	}
	if inside.Secret != "" && !inside.Keys {
		return nil, refuse(errKeyInside)
	}
	t, err := auth.Authenticate(key)
	if errors.Is(err, tenant.ErrUnknownKey) {
		return nil, refuse(errUnknown)
	}
	if errors.Is(err, tenant.ErrSuspended) {
		return nil, connect.NewError(connect.CodePermissionDenied, tenant.ErrSuspended)
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("check the API key: %w", err))
	}
	if err := t.CheckNamed(header.Get(tenant.Header)); err != nil {
		return nil, connect.NewError(connect.CodePermissionDenied, err)
	}
	return withCredential(tenant.NewContext(ctx, t), credential{key: key}), nil
}

// bearer returns the key of the header. The scheme's name is compared without case.
func bearer(header http.Header) (string, error) {
	values := header.Values(headerName)
	switch len(values) {
	case 0:
		return "", errMissing
	case 1:
	default:
		return "", errSeveral
	}
	name, key, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	key = strings.TrimLeft(key, " ")
	if !strings.EqualFold(name, scheme) || key == "" {
		return "", errScheme
	}
	return key, nil
}

func refuse(reason error) error { return connect.NewError(connect.CodeUnauthenticated, reason) }

// credential is the caller's key, or the services' secret with the tenant that it is sent for. It is a struct, so a
// printed context shows only its type.
type credential struct{ key, tenant string }

// String hides the key.
func (credential) String() string { return "(hidden)" }

// GoString hides the key.
func (c credential) GoString() string { return c.String() }

type credentialKey struct{}

func withCredential(ctx context.Context, c credential) context.Context {
	return context.WithValue(ctx, credentialKey{}, c)
}

// Forward returns the client side of authentication. A call made while serving an authenticated call carries that
// caller's Authorization header. An existing header of the call stays. A call outside any served call is sent
// unchanged, and the other side refuses it. On servers Forward does nothing.
func Forward() connect.Interceptor { return forward{} }

type forward struct{}

func (forward) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if req.Spec().IsClient {
			attach(ctx, req.Header())
		}
		return next(ctx, req)
	}
}

func (forward) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		attach(ctx, conn.RequestHeader())
		return conn
	}
}

func (forward) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

func attach(ctx context.Context, header http.Header) {
	c, ok := ctx.Value(credentialKey{}).(credential)
	if ok && header.Get(headerName) == "" {
		header.Set(headerName, scheme+" "+c.key)
		if c.tenant != "" {
			header.Set(tenant.Header, c.tenant)
		}
	}
}

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
