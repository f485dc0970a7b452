package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

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
