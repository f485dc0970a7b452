package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/services/gateway/rpc"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// doors are the entries of the gateway for callers. The guard stands before each, except for the API's description
// in a browser.
type doors struct {
	rest *rest.API
	mem0 http.Handler
	mcp  http.Handler
	rpc  http.Handler
}

// withGuard puts the guard before the doors, and has each call be part of the caller's trace.
func (d doors) withGuard(guard *guard.Guard, tel *telemetry.Telemetry) http.Handler {
	doors := []struct {
		serves func(*http.Request) bool
		http.Handler
	}{
		{begins(rest.Prefix), guard.Wrap(rest.WriteProblem, d.rest.Handler())},
		{begins(mem0.Prefixes()...), guard.Wrap(mem0.WriteProblem, d.mem0)},
		{begins(rpc.Prefixes()...), guard.Wrap(rpc.WriteProblem, d.rpc)},
		{func(r *http.Request) bool { return r.URL.Path == "/mcp" }, guard.Wrap(mcp.WriteProblem, d.mcp)},
	}
	public := d.rest.Public()
	tracer := tel.Tracer.Tracer(wiring.Scope)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := tel.Propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := tracer.Start(ctx, "gateway", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		tel.Propagator.Inject(ctx, propagation.HeaderCarrier(w.Header()))
		r = r.WithContext(ctx)
		for _, door := range doors { // not http.ServeMux, which redirects paths of identifiers that hold "..", or a slash
			if door.serves(r) {
				door.ServeHTTP(w, r)
				return
			}
		}
		public.ServeHTTP(w, r)
	})
}

// begins reports whether a path begins with one of prefixes; the end of a prefix's slash may be left out.
func begins(prefixes ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(r.URL.Path, p) || r.URL.Path+"/" == p {
				return true
			}
		}
		return false
	}
}

// preflightAge is the time in seconds that browsers may cache a preflight answer.
const preflightAge = 600

// isOrigin reports whether a text is an origin as browsers send it, or "*" for any.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return text == "*" || err == nil && u.Scheme != "" && u.Host != "" && u.Scheme+"://"+u.Host == text &&
		!strings.Contains(text, "*")
}

// withOrigins lets web pages of these origins read the answers of next (CORS). It answers a browser's preflight
// request before authentication, because that request has no key. Keys are in a header, never in cookies. So
// browser credentials are not allowed.
func withOrigins(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 { // which the library takes for all
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: slices.Clone(origins),
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete},
		AllowedHeaders: []string{"*"}, // foreign clients send unknown headers; the answer repeats the requested ones
		ExposedHeaders: []string{
			"ETag", guard.RequestIDHeader, "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
			problem.RateLimitStatus, "traceparent", idempotency.Replayed,
		},
		MaxAge: preflightAge,
	}).Handler(next)
}
