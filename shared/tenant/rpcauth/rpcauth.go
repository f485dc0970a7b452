// Package rpcauth authenticates calls by API key: `Authorization: Bearer KEY`. The server side puts the tenant into
// the context. The client side passes the caller's key on to the next service. So a service needs no separate key
// to act for a tenant. Services that trust each other show a secret instead, and name the tenant.
package rpcauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

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
