package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// New serves MCP over streamable HTTP, without sessions, behind guard.Guard.
func New(p Parts) http.Handler {
	server := NewServer(p)
	next := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, // the body has been read by then
		// A page behind a forged host name has no key. A proxy on this machine calls the gateway by the gateway's
		// name.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkOrigin(r, p.Origins); err != nil {
			WriteProblem(w, r, problem.From(err))
			return
		}
		if r.Method != http.MethodPost { // without sessions there is no stream to open, and none to end
			w.Header().Set("Allow", http.MethodPost)
			WriteProblem(w, r, problem.Method(http.MethodPost))
			return
		}
		body, err := problem.ReadAll(r)
		if err != nil {
			WriteProblem(w, r, problem.From(err))
			return
		}
		msg, wrong := parse(body)
		if wrong != nil {
			writeError(w, http.StatusBadRequest, nil, wrong)
			return
		}
		r = withRequest(r)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		inner := &plainless{ResponseWriter: w}
		next.ServeHTTP(inner, r)
		inner.finish(msg)
	})
}

// plainless holds back the SDK's refusals in plain text, and turns them into errors of JSON-RPC.
type plainless struct {
	http.ResponseWriter
	refused int // the status; 0 where the SDK answers in JSON
	text    []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *plainless) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *plainless) Write(b []byte) (int, error) {
	if w.refused == 0 {
		return w.ResponseWriter.Write(b)
	}
	w.text = append(w.text, b...)
	return len(b), nil
}

// Unwrap is for http.ResponseController.
func (w *plainless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// notHandled is the start of the SDK's message for an unknown method. The SDK exports no error for it.
const notHandled = "JSON RPC not handled"

// finish answers a message that the SDK has refused. A call of an unknown method is a good request of HTTP, and is
// answered as a call.
func (w *plainless) finish(msg jsonrpc.Message) {
	if w.refused == 0 {
		return
	}
	var id any
	req, _ := msg.(*jsonrpc.Request)
	if req != nil {
		id = req.ID.Raw()
	}
	switch text := string(bytes.TrimSpace(w.text)); {
	case req != nil && strings.HasPrefix(text, notHandled):
		if req.IsCall() {
			w.refused = http.StatusOK
		}
		writeError(w.ResponseWriter, w.refused, id, protocolError(problem.UnsupportedField("method",
			fmt.Sprintf("the server has no method %q", shortened(req.Method)))))
	case w.refused >= http.StatusInternalServerError:
		writeError(w.ResponseWriter, w.refused, id,
			protocolError(problem.Problem{Status: w.refused, Code: problem.CodeInternal, Detail: text}))
	default:
		writeError(w.ResponseWriter, w.refused, id, invalid(jsonrpc.CodeInvalidRequest, text))
	}
}

// WriteProblem writes a problem as an error of JSON-RPC that answers no message in particular.
func WriteProblem(w http.ResponseWriter, r *http.Request, p problem.Problem) {
	h := w.Header()
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(r))
	}
	p.SetHeaders(h)
	e := protocolError(p)
	if e.Code == jsonrpc.CodeInvalidParams { // the request itself is wrong
		e.Code = jsonrpc.CodeInvalidRequest
	}
	writeError(w, p.Status, nil, e)
}

// writeError answers the message of an id.
func writeError(w http.ResponseWriter, status int, id any, e *jsonrpc.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(answer(id, e)) // the caller may have gone
}

// challenge answers a caller without a key that a key is required, and a caller with a wrong key that it is wrong
// (RFC 6750, section 3).
func challenge(r *http.Request) string {
	if len(r.Header.Values("Authorization")) == 0 {
		return `Bearer realm="mneme"`
	}
	return `Bearer realm="mneme", error="invalid_token"`
}

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

// parse reads one message. A batch, which versions of the protocol until 2025-03-26 had, would be many calls that count
// as one.
func parse(body []byte) (jsonrpc.Message, *jsonrpc.Error) {
	if err := problem.CheckJSON(body); err != nil {
		return nil, coded(jsonrpc.CodeParseError, problem.From(err))
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil, invalid(jsonrpc.CodeParseError, "the body is empty, want one JSON-RPC message")
	}
	if body[0] != '{' {
		return nil, invalid(jsonrpc.CodeInvalidRequest,
			"the body is not one JSON-RPC message, want a JSON object and no batch")
	}
	msg, err := jsonrpc.DecodeMessage(body)
	if err != nil { // the answer omits err, which may quote the request
		return nil, invalid(jsonrpc.CodeInvalidRequest,
			`the body is not a JSON-RPC message, want "jsonrpc": "2.0", a "method" that is a string, and an "id" that is a string or a number`)
	}
	return msg, nil
}

// invalid is an error of a message as a whole.
func invalid(code int64, detail string) *jsonrpc.Error {
	return coded(code, problem.Invalid("", detail))
}

// coded is a problem as an error of a code.
func coded(code int64, p problem.Problem) *jsonrpc.Error {
	out := protocolError(p)
	out.Code = code
	return out
}

// answer encodes an error as a message. The id is nil if the call is not readable.
func answer(id any, e *jsonrpc.Error) []byte {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": e})
	if err != nil { // strings and numbers always encode
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"an internal error"}}`)
	}
	return body
}
