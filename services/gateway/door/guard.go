package door

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// RequestIDHeader names a request in the client's log and in ours.
const RequestIDHeader = "X-Request-Id"

const maxRequestID = 128

// Authenticator knows whose a key is.
type Authenticator interface {
	// Authenticate returns who calls with a key: tenant.ErrUnknownKey for a key that is nobody's, that has expired or was revoked,
	// tenant.ErrSuspended where its tenant is suspended. Any other error says that it cannot be told at the moment.
	Authenticate(ctx context.Context, key string) (access.Principal, error)
}

// Allowance is what a limiter says.
type Allowance struct {
	// Limit, Remaining and Reset are those of the nearest limit; a Limit of 0 says that there is none.
	Limit, Remaining int
	Reset            time.Duration
	// RetryAfter is more than zero where the call is over a limit.
	RetryAfter time.Duration
	// Quota names the limit that was reached ("requests per second").
	Quota string
	// Unavailable says that the limits cannot be told at the moment.
	Unavailable bool
}

// Limiter counts requests.
type Limiter interface {
	// Request counts a request of a principal. An error says that the limits cannot be told at the moment, and that requests are not to be
	// served without; one that is a Problem is told as it is, and the limiter's to log.
	Request(ctx context.Context, p access.Principal) (Allowance, error)
}

// Writer writes a problem in a door's own form.
type Writer func(w http.ResponseWriter, r *http.Request, p Problem)

// Guard stands before the doors.
type Guard struct {
	Auth Authenticator
	// Limits counts requests; nil for no limits.
	Limits Limiter
	Log    *slog.Logger
}

// Wrap lets calls with a known key, within their limits, through to next, whose context carries the access.Principal. No body is read
// before; how long it may take to arrive is the server's to bound (MNEME_HTTP_BODY_TIMEOUT). It refuses compressed bodies and those whose
// declared length is over MaxBody. Every answer has a request id.
func (g *Guard) Wrap(write Writer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = Identify(w, r)
		p, err := g.admit(w, r)
		if err == nil {
			err = checkHeaders(r)
		}
		if err != nil {
			if r.ProtoMajor == 1 && r.Body != http.NoBody {
				w.Header().Set("Connection", "close") // nobody reads the body; in HTTP/2 it would end other calls of the connection
			}
			write(w, r, ProblemOf(err))
			return
		}
		next.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), p)))
	})
}

// Identify gives the answer the request's id: the client's own where it is fit to be logged, else a new one.
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
	a.setHeaders(w.Header())
	var known Problem
	if errors.As(err, &known) {
		return p, known
	}
	if err != nil {
		g.Log.ErrorContext(r.Context(), "limits", "error", err)
		return p, Problem{
			Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryLater, Detail: "limits cannot be told at the moment",
		}
	}
	if a.RetryAfter > 0 {
		return p, Problem{
			Status: http.StatusTooManyRequests, Code: CodeRateLimited, RetryAfter: a.RetryAfter, Detail: "over the limit of " + a.Quota,
		}
	}
	return p, nil
}

// RateLimitStatus is the header that says that limits cannot be told at the moment.
const RateLimitStatus = "X-RateLimit-Status"

// setHeaders says in headers what is left.
func (a Allowance) setHeaders(h http.Header) {
	if a.Unavailable {
		h.Set(RateLimitStatus, "unavailable")
	}
	if a.Limit > 0 {
		h.Set("X-RateLimit-Limit", strconv.Itoa(a.Limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(a.Remaining))
		h.Set("X-RateLimit-Reset", Seconds(a.Reset))
	}
}

// Seconds is a duration in whole seconds, rounded up, as headers have it.
func Seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

func (g *Guard) authenticate(w http.ResponseWriter, r *http.Request) (access.Principal, error) {
	key, err := KeyOf(r.Header)
	if err == nil {
		var p access.Principal
		if p, err = g.Auth.Authenticate(r.Context(), key); err == nil {
			if err = p.Tenant.CheckNamed(r.Header.Get(tenant.Header)); err == nil {
				return p, nil
			}
			err = Problem{Status: http.StatusForbidden, Code: CodeForbidden, Field: tenant.Header, Detail: err.Error()}
		}
	}
	var known Problem
	switch {
	case errors.As(err, &known):
	case errors.Is(err, tenant.ErrUnknownKey):
		known = unauthenticated("the API key is not known: check that it is complete, and neither expired nor revoked")
	case errors.Is(err, tenant.ErrSuspended):
		known = Problem{Status: http.StatusForbidden, Code: CodeSuspended, Detail: tenant.ErrSuspended.Error()}
	default:
		g.Log.ErrorContext(r.Context(), "authenticate", "error", err)
		known = Problem{
			Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryLater, Detail: "keys cannot be checked at the moment",
		}
	}
	if known.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return access.Principal{}, known
}

func unauthenticated(detail string) Problem {
	return Problem{Status: http.StatusUnauthorized, Code: CodeUnauthenticated, Detail: detail}
}

// KeyOf returns the API key of a request: `Authorization: Bearer KEY`, or `Token KEY`. Its errors are problems, and repeat nothing of what
// was sent.
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
