// Package problem has the errors of the gateway for its clients, and the checks of request bodies. Every API writes a
// Problem in its own form.
package problem

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

// Problem is an error for a client. Each API writes it in its own form.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Code is for programs, one of the Code constants.
	Code string
	// Detail is for people; it names no internals.
	Detail string
	// Field is the field at fault ("turns[3].text"). It is empty if no field is at fault.
	Field string
	// RetryAfter is when it is worth trying again; zero where that does not help.
	RetryAfter time.Duration
	// Allowance belongs to the exceeded limit, if that is another limit than the limit of requests.
	Allowance Allowance
}

// SetHeaders writes the time of a useful retry, and the rest of the exceeded limit, into headers.
func (p Problem) SetHeaders(h http.Header) {
	if p.RetryAfter > 0 {
		h.Set("Retry-After", Seconds(p.RetryAfter))
	}
	p.Allowance.SetHeaders(h)
}

// Codes of problems. The services behind the gateway have more: the reasons in rpcerror.Reasons.
const (
	CodeInvalid         = "invalid" // a field or parameter
	CodeInvalidCursor   = "invalid_cursor"
	CodeMalformed       = "malformed_body"
	CodeDuplicateTurn   = "duplicate_turn"
	CodeMethod          = "method_not_allowed"
	CodeBodyTimeout     = "body_timeout"
	CodeMediaType       = "unsupported_media_type"
	CodeUnauthenticated = "unauthenticated"
	CodeForbidden       = "forbidden"
	CodeSuspended       = "tenant_suspended"
	CodeNotFound        = "not_found"
	CodeConflict        = "conflict" // of no other code
	CodeKeyReused       = "idempotency_key_reused"
	CodeKeyInFlight     = "idempotency_key_in_flight"
	CodeKeyErased       = "idempotency_key_erased"
	CodeKeyForeign      = "idempotency_key_of_another_api_key"
	CodeManyItems       = "too_many_items"
	CodeManySessions    = "too_many_sessions"
	CodeManyKeys        = "too_many_api_keys"
	CodeManyWebhooks    = "too_many_webhooks"
	CodeLetterRefused   = "dead_letter_refused"
	CodePrecondition    = "precondition_failed"
	CodeTooLarge        = "too_large"
	CodeRateLimited     = "rate_limited"
	CodeOverQuota       = "over_quota" // of a quantity, which waiting for does not give back soon
	CodeUnsupported     = "unsupported"
	CodeInternal        = "internal"
	CodeUnavailable     = "unavailable"
)

// Codes lists every code that a problem may have.
func Codes() []string {
	return append([]string{
		CodeInvalid, CodeInvalidCursor, CodeMalformed, CodeDuplicateTurn, CodeMethod, CodeBodyTimeout, CodeMediaType,
		CodeUnauthenticated, CodeForbidden, CodeSuspended, CodeNotFound, CodeConflict, CodeKeyReused, CodeKeyInFlight,
		CodeKeyErased, CodeKeyForeign, CodeManyItems, CodeManySessions, CodeManyKeys, CodeManyWebhooks,
		CodeLetterRefused, CodePrecondition, CodeTooLarge, CodeRateLimited, CodeOverQuota, CodeUnsupported,
		CodeInternal, CodeUnavailable,
	}, rpcerror.Reasons()...)
}

// RetryUnavailable is the retry delay for clients when a service is down.
const RetryUnavailable = time.Second

// Error implements error.
func (p Problem) Error() string {
	if p.Field != "" {
		return p.Field + ": " + p.Detail
	}
	return p.Detail
}

// Invalid is a problem with a field of the request.
func Invalid(field, detail string) Problem {
	return Problem{Status: http.StatusBadRequest, Code: codeOf(field), Field: field, Detail: detail}
}

// codeOf returns the code of a problem with a field. After an invalid cursor, a client may begin the list again.
func codeOf(field string) string {
	if field == "cursor" || field == "page_token" {
		return CodeInvalidCursor
	}
	return CodeInvalid
}

// Malformed is a problem with a body that is no JSON of the form that is taken, whatever it says.
func Malformed(field, detail string) Problem {
	return Problem{Status: http.StatusBadRequest, Code: CodeMalformed, Field: field, Detail: detail}
}

// Method is the problem of a method that a path does not have.
func Method(allowed ...string) Problem {
	return Problem{
		Status: http.StatusMethodNotAllowed, Code: CodeMethod,
		Detail: "the method is not allowed here, want " + strings.Join(allowed, ", "),
	}
}

// Unsupported says that something has no meaning here, and why.
func Unsupported(detail string) Problem { return UnsupportedField("", detail) }

// UnsupportedField says that a field, or its value, has no meaning here, and why.
func UnsupportedField(field, detail string) Problem {
	return Problem{Status: http.StatusNotImplemented, Code: CodeUnsupported, Field: field, Detail: detail}
}

// NotFound says which thing does not exist.
func NotFound(detail string) Problem {
	return Problem{Status: http.StatusNotFound, Code: CodeNotFound, Detail: detail}
}

// Unavailable says that something is not available now, and when to try again.
func Unavailable(detail string, retryAfter time.Duration) Problem {
	return Problem{
		Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryAfter, Detail: detail,
	}
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
	connect.CodeResourceExhausted: {Status: http.StatusTooManyRequests, Code: CodeRateLimited,
		RetryAfter: RetryUnavailable},
	connect.CodeUnimplemented: {Status: http.StatusNotImplemented, Code: CodeUnsupported},
	connect.CodeUnavailable: {Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		RetryAfter: RetryUnavailable},
	connect.CodeDeadlineExceeded: {Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		RetryAfter: RetryUnavailable},
	connect.CodeCanceled: {Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		RetryAfter: RetryUnavailable},
}

// From returns the client's view of an error. It leaves out internal names. Log the error if Status is 500 or
// more.
func From(err error) Problem {
	var p Problem
	if errors.As(err, &p) {
		return p
	}
	if p, ok := fromStore(err); ok {
		return p
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
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
	known := false
	if p, known = statuses[rpc.Code()]; !known {
		return Problem{Status: http.StatusInternalServerError, Code: CodeInternal, Detail: "an internal error"}
	}
	p.Field, p.Detail = field, strings.TrimPrefix(rpc.Message(), field+": ")
	if p.Field == "" && p.Status == http.StatusBadRequest {
		p.Field, p.Detail = splitField(rpc.Message())
	}
	if p.Code == CodeInvalid {
		p.Code = codeOf(p.Field)
	}
	if reason := rpcerror.Reason(rpc); slices.Contains(Codes(), reason) {
		p.Code = reason
	}
	return p
}

// IdempotencyKey is the header that carries the key of a request that may be repeated.
const IdempotencyKey = "Idempotency-Key"

// retryInFlight is the retry delay for clients when the same request is still running.
const retryInFlight = time.Second

// storeProblems maps the errors of the gateway's stores to problems. The errors' texts are for callers.
var storeProblems = []struct {
	err     error
	problem Problem
}{
	{redisstore.ErrErased, Problem{Status: http.StatusConflict, Code: rpcerror.ReasonChanged}},
	{idempotency.ErrReused, Problem{Status: http.StatusUnprocessableEntity, Code: CodeKeyReused, Field: IdempotencyKey}},
	{idempotency.ErrInFlight,
		Problem{Status: http.StatusConflict, Code: CodeKeyInFlight, Field: IdempotencyKey, RetryAfter: retryInFlight}},
	{idempotency.ErrErased, Problem{Status: http.StatusGone, Code: CodeKeyErased, Field: IdempotencyKey}},
	{idempotency.ErrForeign, Problem{Status: http.StatusConflict, Code: CodeKeyForeign, Field: IdempotencyKey}},
	{items.ErrManyItems, Problem{Status: http.StatusConflict, Code: CodeManyItems}},
	{items.ErrManySessions, Problem{Status: http.StatusConflict, Code: CodeManySessions}},
	{items.ErrTooLarge, Problem{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge}},
	{items.ErrBusy, Problem{Status: http.StatusTooManyRequests, Code: CodeRateLimited, RetryAfter: items.RetrySearch}},
	{webhooks.ErrNotFound, Problem{Status: http.StatusNotFound, Code: CodeNotFound}},
	{webhooks.ErrNoLetter, Problem{Status: http.StatusNotFound, Code: CodeNotFound}},
	{webhooks.ErrMany, Problem{Status: http.StatusConflict, Code: CodeManyWebhooks}},
	{webhooks.ErrChanged, Problem{Status: http.StatusConflict, Code: rpcerror.ReasonChanged}},
}

// fromStore returns the problem for an error of a store. ok is false for any other error.
func fromStore(err error) (p Problem, ok bool) {
	for _, known := range storeProblems {
		if errors.Is(err, known.err) {
			p = known.problem
			p.Detail = err.Error()
			return p, true
		}
	}
	return Problem{}, false
}

// Allowance is the state of a caller's limits after a request.
type Allowance struct {
	// Limit, Remaining and Reset describe the nearest limit. A Limit of 0 means no limit.
	Limit, Remaining int
	Reset            time.Duration
	// RetryAfter is more than zero where the call is over a limit.
	RetryAfter time.Duration
	// Quota names the limit that was reached ("requests per second").
	Quota string
	// Unavailable means that the limits are not available now.
	Unavailable bool
}

// RateLimitStatus is the header for limits that are not available now.
const RateLimitStatus = "X-RateLimit-Status"

// SetHeaders writes the remaining allowance into headers.
func (a Allowance) SetHeaders(h http.Header) {
	if a.Unavailable {
		h.Set(RateLimitStatus, "unavailable")
	}
	if a.Limit > 0 {
		h.Set("X-RateLimit-Limit", strconv.Itoa(a.Limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(a.Remaining))
		h.Set("X-RateLimit-Reset", Seconds(a.Reset))
	}
}

// Seconds formats a duration for a header, in whole seconds, rounded up.
func Seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
