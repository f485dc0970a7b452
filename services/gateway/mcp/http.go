package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/door"
)

// New is the door over streamable HTTP, without sessions; door.Guard stands before it, and the size of bodies is bounded before it, too.
func New(p Parts) http.Handler {
	server := NewServer(p)
	next := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, // the body has been read by then
		// A page that was led here by a forged name has no key, and a proxy on this machine calls us by its own name.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := message(r)
			if err != nil {
				WriteProblem(w, r, door.ProblemOf(err))
				return
			}
			r = withRequest(r)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		next.ServeHTTP(w, r)
	})
}

// message reads the one message of a request. A batch, which versions of the protocol until 2025-03-26 had, would be many calls that
// count as one.
func message(r *http.Request) ([]byte, error) {
	body, err := door.ReadBody(r)
	if err != nil {
		return nil, err
	}
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '{' {
		return nil, door.Invalid("", "the body is not one JSON-RPC message, want a JSON object and no batch")
	}
	return body, nil
}

// WriteProblem writes a problem as an error of JSON-RPC that answers no message in particular.
func WriteProblem(w http.ResponseWriter, r *http.Request, p door.Problem) {
	h := w.Header()
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(r))
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", door.Seconds(p.RetryAfter))
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": protocolError(p)})
	if err != nil { // strings and numbers always encode
		body = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"an internal error"}}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the caller has gone
}

// challenge tells a caller without a key that it needs one, and one with a wrong key that it is wrong (RFC 6750, section 3).
func challenge(r *http.Request) string {
	if len(r.Header.Values("Authorization")) == 0 {
		return `Bearer realm="mneme"`
	}
	return `Bearer realm="mneme", error="invalid_token"`
}
