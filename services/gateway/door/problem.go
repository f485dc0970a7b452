// Package door is what all doors of the gateway (REST, mem0's API, MCP, RPC, streams) share: who calls, quotas, what a body may be, and
// what an error is to an HTTP client.
package door

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

// Problem is an error as a client is told it. Each door writes it in its own form.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Code is for programs, one of the Code constants.
	Code string
	// Detail is for people; it names no internals.
	Detail string
	// Field is the field at fault ("turns[3].text"); empty where it is none.
	Field string
	// RetryAfter is when it is worth trying again; zero where that does not help.
	RetryAfter time.Duration
	// Allowance is that of the limit that the call is over, where it is another one than those of requests.
	Allowance Allowance
}

// SetHeaders says in headers when it is worth trying again, and what is left of the limit that the call is over.
func (p Problem) SetHeaders(h http.Header) {
	if p.RetryAfter > 0 {
		h.Set("Retry-After", Seconds(p.RetryAfter))
	}
	p.Allowance.setHeaders(h)
}

// Codes of problems.
const (
	CodeInvalid         = "invalid"
	CodeUnauthenticated = "unauthenticated"
	CodeForbidden       = "forbidden"
	CodeNotFound        = "not_found"
	CodeConflict        = "conflict"
	CodeTooLarge        = "too_large"
	CodeRateLimited     = "rate_limited"
	CodeOverQuota       = "over_quota" // of a quantity, which waiting for does not give back soon
	CodeUnsupported     = "unsupported"
	CodeInternal        = "internal"
	CodeUnavailable     = "unavailable"
)

// retryLater is when a client is told to try again where something is down.
const retryLater = time.Second

// Error implements error.
func (p Problem) Error() string {
	if p.Field != "" {
		return p.Field + ": " + p.Detail
	}
	return p.Detail
}

// Invalid is a problem with a field of the request.
func Invalid(field, detail string) Problem {
	return Problem{Status: http.StatusBadRequest, Code: CodeInvalid, Field: field, Detail: detail}
}

// Unsupported says that something has no meaning here, and why.
func Unsupported(detail string) Problem {
	return Problem{Status: http.StatusNotImplemented, Code: CodeUnsupported, Detail: detail}
}

// statuses are the problems that RPC codes are.
var statuses = map[connect.Code]Problem{
	connect.CodeInvalidArgument:    {Status: http.StatusBadRequest, Code: CodeInvalid},
	connect.CodeOutOfRange:         {Status: http.StatusBadRequest, Code: CodeInvalid},
	connect.CodeUnauthenticated:    {Status: http.StatusUnauthorized, Code: CodeUnauthenticated},
	connect.CodePermissionDenied:   {Status: http.StatusForbidden, Code: CodeForbidden},
	connect.CodeNotFound:           {Status: http.StatusNotFound, Code: CodeNotFound},
	connect.CodeAlreadyExists:      {Status: http.StatusConflict, Code: CodeConflict},
	connect.CodeFailedPrecondition: {Status: http.StatusConflict, Code: CodeConflict},
	connect.CodeAborted:            {Status: http.StatusConflict, Code: CodeConflict},
	connect.CodeResourceExhausted:  {Status: http.StatusTooManyRequests, Code: CodeRateLimited, RetryAfter: retryLater},
	connect.CodeUnimplemented:      {Status: http.StatusNotImplemented, Code: CodeUnsupported},
	connect.CodeUnavailable:        {Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryLater},
	connect.CodeDeadlineExceeded:   {Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryLater},
	connect.CodeCanceled:           {Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryLater},
}

// ProblemOf is what an error is to a client. What names internals is not told; log it where Status is 500 or more.
func ProblemOf(err error) Problem {
	var p Problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return Problem{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge, Detail: "the body is too large"}
	case errors.Is(err, access.ErrForbidden):
		detail := strings.TrimPrefix(err.Error(), connect.CodePermissionDenied.String()+": ")
		return Problem{Status: http.StatusForbidden, Code: CodeForbidden, Detail: detail}
	case errors.Is(err, context.DeadlineExceeded):
		err = connect.NewError(connect.CodeDeadlineExceeded, errors.New("the deadline is exceeded"))
	}
	field := fault.Field(err)
	var rpc *connect.Error
	if !errors.As(rpcerror.From(err), &rpc) {
		return Problem{Status: http.StatusInternalServerError, Code: CodeInternal, Detail: "an internal error"}
	}
	p, known := statuses[rpc.Code()]
	if !known {
		return Problem{Status: http.StatusInternalServerError, Code: CodeInternal, Detail: "an internal error"}
	}
	p.Field, p.Detail = field, strings.TrimPrefix(rpc.Message(), field+": ")
	if p.Field == "" && p.Status == http.StatusBadRequest {
		p.Field, p.Detail = splitField(rpc.Message())
	}
	return p
}
