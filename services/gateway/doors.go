package gateway

import (
	"net/http"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/services/gateway/rpc"
)

// doors are what callers reach the gateway by. The guard stands before each but what a browser is shown of the API.
type doors struct {
	rest *rest.API
	mem0 http.Handler
	mcp  http.Handler
	rpc  http.Handler
}

// maxMessage bounds an RPC request once it is decompressed, in bytes.
const maxMessage = 4 << 20

// behind puts the guard before the doors.
func (d doors) behind(guard *door.Guard) http.Handler {
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
