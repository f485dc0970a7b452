package rpcauth

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/tenant"
)

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
