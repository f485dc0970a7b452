package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/services/gateway/problem"
)

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
