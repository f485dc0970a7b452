package upstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

var errOver = errors.New("over the limit")

// quota lets so many turns through.
type quota struct{ left, counted int }

func (q *quota) Turns(_ context.Context, p access.Principal, n int) error {
	if p.Tenant.ID != "acme" || n > q.left {
		return errOver
	}
	q.left -= n
	return nil
}

func (q *quota) Count(_ context.Context, _ access.Principal, what string, n int) {
	if what == "turns" {
		q.counted += n
	}
}

// away is a bus that takes nothing.
type away struct{ published }

func (*away) Publish(context.Context, ...bus.Message) error { return errors.New("the bus is away") }

func TestTurnsArePublishedWithinTheQuotaAndCounted(t *testing.T) {
	q, out := &quota{left: 3}, &published{}
	in := upstream.Ingester{Out: out, Now: func() time.Time { return now }, Quota: q}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	two := []memory.Turn{turn("t1", "I live in Porto."), turn("t2", "I like tea.")}
	if err := in.Turns(ctx, "ines", "s", two); err != nil || len(out.msgs) != 2 || q.counted != 2 {
		t.Errorf("within: %v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	if err := in.Turns(ctx, "ines", "s", two); !errors.Is(err, errOver) || len(out.msgs) != 2 || q.counted != 2 {
		t.Errorf("over: %v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	if err := in.Turns(ctx, "ines", "s", []memory.Turn{turn("t3", " ")}); err == nil || q.left != 1 {
		t.Errorf("what breaks the contract takes nothing of the quota: %v, %d left", err, q.left)
	}
	for session, field := range map[string]string{"s": "turns[1].text", "": "session_id"} {
		broken := []memory.Turn{turn("t3", "I like tea."), turn("t4", "")}
		if session == "" {
			broken = broken[:1]
		}
		if err := in.Turns(ctx, "ines", session, broken); fault.Field(err) != field {
			t.Errorf("got %v, want it to name %s", err, field)
		}
	}
	same := []memory.Turn{turn("t5", "I like tea."), turn("t5", "I like coffee.")}
	if err := in.Turns(ctx, "ines", "s", same); door.ProblemOf(err).Code != door.CodeDuplicateTurn {
		t.Errorf("two turns of one id: %v", err)
	}
	in.Out = &away{}
	if err := in.Turns(ctx, "ines", "s", two[:1]); err == nil || q.counted != 2 {
		t.Errorf("what is not published is not counted: %v, %d", err, q.counted)
	}
}
