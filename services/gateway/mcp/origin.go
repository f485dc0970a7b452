package mcp

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// checkOrigin refuses a page of a foreign site, as the protocol requires against DNS rebinding. It accepts a page
// of the gateway's address only if that address is an IP address or localhost. A foreign site may have pointed any
// other name at the gateway.
func checkOrigin(r *http.Request, allowed []string) error {
	for _, origin := range r.Header.Values("Origin") {
		if !isOwnOrigin(r.Host, origin) && !slices.ContainsFunc(allowed, func(a string) bool {
			return a == "*" || strings.EqualFold(a, origin)
		}) {
			return problem.Problem{
				Status: http.StatusForbidden, Code: problem.CodeForbidden, Field: "Origin",
				Detail: "is not allowed: want one of MNEME_GATEWAY_ORIGINS, or the gateway's own address",
			}
		}
	}
	return nil
}

// isOwnOrigin reports whether an origin is the host that was called, by an address that no foreign site can have.
func isOwnOrigin(host, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host) &&
		(u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil)
}
