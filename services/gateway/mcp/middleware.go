package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// Error codes of the protocol that JSON-RPC lacks. They are from the range for servers. SDKs use other codes for
// connections that are closed or too slow.
const (
	codeRefused     = -32010 // no key, or one that may not
	codeUnavailable = -32011 // later it may work
)

// errorData is the machine-readable part of an error.
type errorData struct {
	// Code is one of the Code constants of package problem.
	Code       string `json:"code"`
	Field      string `json:"field,omitempty"`
	RetryAfter string `json:"retry_after_seconds,omitempty"`
}

// protocolError is a problem as an error of JSON-RPC.
func protocolError(p problem.Problem) *jsonrpc.Error {
	code := int64(jsonrpc.CodeInternalError)
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		code = codeRefused
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		code = codeUnavailable
	case http.StatusNotImplemented:
		code = jsonrpc.CodeMethodNotFound
	default:
		if p.Status/100 == 4 {
			code = jsonrpc.CodeInvalidParams
		}
	}
	about := errorData{Code: p.Code, Field: p.Field}
	if p.RetryAfter > 0 {
		about.RetryAfter = problem.Seconds(p.RetryAfter)
	}
	data, err := json.Marshal(about)
	if err != nil { // strings always encode
		data = nil
	}
	return &jsonrpc.Error{Code: code, Message: p.Error(), Data: data}
}

// problem returns the caller's view of an error. It logs the parts that the caller does not see.
func (s *server) problem(ctx context.Context, what string, err error) problem.Problem {
	p := problem.From(err)
	if p.Status >= http.StatusInternalServerError && p.Code != problem.CodeUnsupported && ctx.Err() == nil {
		s.Log.ErrorContext(ctx, "MCP", "call", what, "error", err)
	}
	return p
}

// problemText is a problem in a tool's result, for the model to read.
func problemText(p problem.Problem) string {
	if p.RetryAfter > 0 {
		return p.Error() + "; try again in " + problem.Seconds(p.RetryAfter) + " s"
	}
	return p.Error()
}

// recovered keeps a panic in a call from ending the process. Calls run in separate goroutines, outside the recovery
// of net/http.
func (s *server) recovered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.Log.ErrorContext(ctx, "MCP: panic", "method", method, "type", fmt.Sprintf("%T", r), "stack",
					string(debug.Stack()))
				res, err = nil, protocolError(problem.From(errors.New("MCP: panic")))
			}
		}()
		return next(ctx, method, req)
	}
}

type requestKey struct{}

// withRequest leaves the request's own context where endsWithRequest finds it.
func withRequest(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context()))
}

// endsWithRequest ends a call when its HTTP request ends. The SDK passes on the values of a request's context, but
// not its end. With sessions, a client may fetch the answer later. Here there are no sessions.
func endsWithRequest(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(request, cancel)()
		}
		return next(ctx, method, req)
	}
}

// schemas are the input schemas of tools, by name.
type schemas map[string]schema

// show lists tools with their input schemas. For the SDK itself, each tool takes any object. The SDK would answer
// wrong arguments in the words of JSON schema, and with all sent values.
func (s schemas) show(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*sdk.ListToolsResult); ok && err == nil {
			for i, t := range list.Tools {
				shown := *t
				shown.InputSchema = s[t.Name]
				list.Tools[i] = &shown
			}
		}
		return res, err
	}
}

// canonical rewrites the address of a resource to the SDK's form. A client may leave characters unencoded that a
// template encodes, such as the @ of an address.
func (s *server) canonical(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if read, ok := req.(*sdk.ReadResourceRequest); ok {
			for _, k := range s.kinds() {
				if user, err := k.user(read.Params.URI); err == nil {
					read.Params.URI = k.uri(user)
				}
			}
		}
		return next(ctx, method, req)
	}
}

// listOwn lists the resources of the single user of a call. Other resources have templates only.
func (s *server) listOwn(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*sdk.ListResourcesResult); ok && err == nil {
			if user := s.bound(ctx); user != "" {
				for _, k := range s.kinds() {
					list.Resources = append(list.Resources, &sdk.Resource{
						URI: k.uri(user), Name: k.name, Title: k.title, Description: k.description, MIMEType: mimeType,
					})
				}
			}
		}
		return res, err
	}
}
