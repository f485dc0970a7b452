package problem

import (
	"errors"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

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
