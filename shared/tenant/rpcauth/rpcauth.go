// Package rpcauth authenticates calls by API key: `Authorization: Bearer KEY`. The server
// side puts the tenant into the context, the client side passes the caller's own key on
// to the next service, so that no service needs a key of its own to act for a tenant. Services that trust each other show a secret
// instead, and name the tenant.
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

// The reasons for refusal. None repeats what was sent: it may be a key with a typing error.
var (
	errMissing = errors.New("the Authorization header is missing, want `Authorization: Bearer KEY` with the API key of your tenant")
	errSeveral = errors.New("there are several Authorization headers, want one `Authorization: Bearer KEY`")
	errScheme  = errors.New("the Authorization header is not of the form `Bearer KEY`")
	errUnknown = errors.New("the API key is not known: check that it is complete and has not been revoked")
)

// Authenticator knows whose an API key is; *tenant.Registry is one. It returns
// tenant.ErrUnknownKey for a key that is nobody's. The text of any other error is shown to the
// caller, who is asked to try again.
type Authenticator interface {
	// Authenticate returns the tenant that holds the key.
	Authenticate(key string) (tenant.Tenant, error)
}

// New returns the server side: a handler's context carries the tenant (tenant.FromContext), and a call without a known key, or the secret
// of a service inside and the tenant that it calls for, is refused as unauthenticated before the handler. On clients it does nothing.
func New(auth Authenticator, inside Inside) connect.Interceptor {
	return &server{auth: auth, inside: inside}
}

type server struct {
	auth   Authenticator
	inside Inside
}

func (s *server) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if req.Spec().IsClient {
			return next(ctx, req)
		}
		ctx, err := s.authenticate(ctx, req.Header())
		if err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

func (s *server) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx, err := s.authenticate(ctx, conn.RequestHeader())
		if err != nil {
			return err
		}
		return next(ctx, conn)
	}
}

func (s *server) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// authenticate returns ctx with the tenant and the caller's credential.
func (s *server) authenticate(ctx context.Context, header http.Header) (context.Context, error) {
	key, err := bearer(header)
	if err != nil {
		return nil, refuse(err)
	}
	if s.inside.trusts(key) {
		t, err := s.inside.tenant(header)
		return withCredential(tenant.NewContext(ctx, t), credential{key, t.ID}), err
	}
	if s.inside.Secret != "" && !s.inside.Keys {
		return nil, refuse(errKeyInside)
	}
	t, err := s.auth.Authenticate(key)
	if errors.Is(err, tenant.ErrUnknownKey) {
		return nil, refuse(errUnknown)
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("check the API key: %w", err))
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

func refuse(reason error) error {
	err := connect.NewError(connect.CodeUnauthenticated, reason)
	err.Meta().Set("WWW-Authenticate", scheme)
	return err
}
