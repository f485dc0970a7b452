package door_test

import (
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/store/verbatim"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

func TestErrorsOfStoresAreProblems(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{redisstore.ErrErased, 409, "changed_meanwhile"},
		{idempotency.ErrReused, 422, door.CodeKeyReused},
		{idempotency.ErrInFlight, 409, door.CodeKeyInFlight},
		{idempotency.ErrErased, 410, door.CodeKeyErased},
		{idempotency.ErrForeign, 409, door.CodeKeyForeign},
		{fmt.Errorf("%w: delete some", verbatim.ErrManyItems), 409, door.CodeManyItems},
		{fmt.Errorf("%w: clear some", verbatim.ErrManySessions), 409, door.CodeManySessions},
		{fmt.Errorf("%w: read less", verbatim.ErrTooLarge), 413, door.CodeTooLarge},
		{verbatim.ErrBusy, 429, door.CodeRateLimited},
		{webhooks.ErrNotFound, 404, door.CodeNotFound},
		{webhooks.ErrNoLetter, 404, door.CodeNotFound},
		{webhooks.ErrMany, 409, door.CodeManyWebhooks},
		{webhooks.ErrChanged, 409, "changed_meanwhile"},
	} {
		p := door.ProblemOf(c.err)
		if p.Status != c.status || p.Code != c.code || p.Detail != c.err.Error() {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
	away := door.ProblemOf(fmt.Errorf("verbatim items: put: %w: LOADING of secrets", fault.ErrUnavailable))
	if away.Status != 503 || away.RetryAfter <= 0 || away.Detail != "memory is not available at the moment, try again" {
		t.Errorf("Redis is away: %+v", away)
	}
	if p := door.ProblemOf(fault.Terminal("namespace[1]", "has a dot")); p.Status != 400 || p.Field != "namespace[1]" {
		t.Errorf("a field: %+v", p)
	}
}
