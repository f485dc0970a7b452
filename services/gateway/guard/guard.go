// Package guard authenticates the calls of every API of the gateway, and applies the request limits.
package guard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// RequestIDHeader names a request in the client's log and in ours.
const RequestIDHeader = "X-Request-Id"

const maxRequestID = 128

// Authenticator finds the principal of a key.
type Authenticator interface {
	// Authenticate returns the principal of a key. The error is tenant.ErrUnknownKey for an unknown, expired or
	// revoked key. It is tenant.ErrSuspended for a suspended tenant. Any other error means that the answer is not
	// available now.
	Authenticate(ctx context.Context, key string) (access.Principal, error)
}

// Limiter counts requests.
type Limiter interface {
	// Request counts a request of a principal. An error means that the limits are not available, and that requests
	// need them. The client receives an error of type problem.Problem unchanged. The limiter logs such an error.
	Request(ctx context.Context, p access.Principal) (problem.Allowance, error)
}

// Writer writes a problem in the form of its API.
type Writer func(w http.ResponseWriter, r *http.Request, p problem.Problem)

// Guard authenticates calls and applies the request limits.
type Guard struct {
	Auth Authenticator
	// Limits counts requests; nil for no limits.
	Limits Limiter
	Log    *slog.Logger
}

// Wrap passes calls with a known key and within their limits to next. Their context carries the access.Principal.
// It reads no body before that. The server bounds the time for a body (MNEME_HTTP_BODY_TIMEOUT). Wrap refuses
// compressed bodies, and bodies with a declared length over MaxBody. Every answer has a request id.
func (g *Guard) Wrap(write Writer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = Identify(w, r)
		p, err := g.admit(w, r)
		if err == nil {
			err = problem.CheckHeaders(r)
		}
		if err != nil {
			if r.ProtoMajor == 1 && r.Body != http.NoBody {
				w.Header().Set("Connection", "close") // the body stays unread; in HTTP/2 it would end other calls of the connection
			}
			write(w, r, problem.From(err))
			return
		}
		next.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), p)))
	})
}

// Identify sets the request's id on the answer. It uses the client's id if the id is fit for logs, else a new one.
func Identify(w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(RequestIDHeader)
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, func(c rune) bool { return c < '!' || c > '~' }) {
		id = uuid.NewString()
		r.Header.Set(RequestIDHeader, id)
	}
	w.Header().Set(RequestIDHeader, id)
	return r
}

func (g *Guard) admit(w http.ResponseWriter, r *http.Request) (access.Principal, error) {
	p, err := g.authenticate(w, r)
	if err != nil || g.Limits == nil {
		return p, err
	}
	a, err := g.Limits.Request(r.Context(), p)
	a.SetHeaders(w.Header())
	if known, ok := errors.AsType[problem.Problem](err); ok {
		return p, known
	}
	if err != nil {
		g.Log.ErrorContext(r.Context(), "limits", "error", err)
		return p, problem.Unavailable("the gateway cannot check limits at the moment, try again", problem.RetryUnavailable)
	}
	if a.RetryAfter > 0 {
		return p, problem.Problem{
			Status: http.StatusTooManyRequests, Code: problem.CodeRateLimited, RetryAfter: a.RetryAfter,
			Detail: "over the limit of " + a.Quota,
		}
	}
	return p, nil
}

func (g *Guard) authenticate(w http.ResponseWriter, r *http.Request) (access.Principal, error) {
	key, err := KeyOf(r.Header)
	if err == nil {
		var p access.Principal
		if p, err = g.Auth.Authenticate(r.Context(), key); err == nil {
			if err = p.Tenant.CheckNamed(r.Header.Get(tenant.Header)); err == nil {
				return p, nil
			}
			err = problem.Problem{Status: http.StatusForbidden, Code: problem.CodeForbidden, Field: tenant.Header,
				Detail: err.Error()}
		}
	}
	var known problem.Problem
	switch {
	case errors.As(err, &known):
	case errors.Is(err, tenant.ErrUnknownKey):
		known = unauthenticated("the API key is not known: check that it is complete, and neither expired nor revoked")
	case errors.Is(err, tenant.ErrSuspended):
		known = problem.Problem{Status: http.StatusForbidden, Code: problem.CodeSuspended,
			Detail: tenant.ErrSuspended.Error()}
	default:
		g.Log.ErrorContext(r.Context(), "authenticate", "error", err)
		known = problem.Unavailable("the gateway cannot check keys at the moment, try again", problem.RetryUnavailable)
	}
	if known.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return access.Principal{}, known
}

func unauthenticated(detail string) problem.Problem {
	return problem.Problem{Status: http.StatusUnauthorized, Code: problem.CodeUnauthenticated, Detail: detail}
}

// KeyOf returns the API key of a request: `Authorization: Bearer KEY`, or `Token KEY`. Its errors are problems, and
// repeat nothing of the request.
func KeyOf(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", unauthenticated("the Authorization header is missing, want `Authorization: Bearer KEY`")
	}
	if len(values) > 1 {
		return "", unauthenticated("there are several Authorization headers, want one")
	}
	scheme, key, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	key = strings.TrimSpace(key)
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") || key == "" {
		return "", unauthenticated("the Authorization header is not of the form `Bearer KEY` or `Token KEY`")
	}
	return key, nil
}
