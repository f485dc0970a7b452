package problem_test

import (
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

func TestErrorsOfStoresAreProblems(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{redisstore.ErrErased, 409, "changed_meanwhile"},
		{idempotency.ErrReused, 422, problem.CodeKeyReused},
		{idempotency.ErrInFlight, 409, problem.CodeKeyInFlight},
		{idempotency.ErrErased, 410, problem.CodeKeyErased},
		{idempotency.ErrForeign, 409, problem.CodeKeyForeign},
		{fmt.Errorf("%w: delete some", items.ErrManyItems), 409, problem.CodeManyItems},
		{fmt.Errorf("%w: clear some", items.ErrManySessions), 409, problem.CodeManySessions},
		{fmt.Errorf("%w: read less", items.ErrTooLarge), 413, problem.CodeTooLarge},
		{items.ErrBusy, 429, problem.CodeRateLimited},
		{webhooks.ErrNotFound, 404, problem.CodeNotFound},
		{webhooks.ErrNoLetter, 404, problem.CodeNotFound},
		{webhooks.ErrMany, 409, problem.CodeManyWebhooks},
		{webhooks.ErrChanged, 409, "changed_meanwhile"},
	} {
		p := problem.From(c.err)
		if p.Status != c.status || p.Code != c.code || p.Detail != c.err.Error() {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
	away := problem.From(fmt.Errorf("verbatim items: put: %w: LOADING of secrets", fault.ErrUnavailable))
	if away.Status != 503 || away.RetryAfter <= 0 || away.Detail != "memory is not available at the moment, try again" {
		t.Errorf("Redis is away: %+v", away)
	}
	if p := problem.From(fault.Terminal("namespace[1]", "has a dot")); p.Status != 400 || p.Field != "namespace[1]" {
		t.Errorf("a field: %+v", p)
	}
}
