package mcp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
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
		writeError(w.ResponseWriter, w.refused, id, protocolError(problem.Problem{
			Status: http.StatusNotImplemented, Code: problem.CodeUnsupported, Field: "method",
			Detail: fmt.Sprintf("the server has no method %q", shortened(req.Method)),
		}))
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
