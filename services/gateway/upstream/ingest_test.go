package upstream_test

import (
	"context"
	"errors"
	"strings"
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
	if _, err := in.Turns(ctx, "ines", "s", two); err != nil || len(out.msgs) != 2 || q.counted != 2 {
		t.Errorf("within: %v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	if _, err := in.Turns(ctx, "ines", "s", two); !errors.Is(err, errOver) || len(out.msgs) != 2 || q.counted != 2 {
		t.Errorf("over: %v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	if _, err := in.Turns(ctx, "ines", "s", []memory.Turn{turn("t3", " ")}); err == nil || q.left != 1 {
		t.Errorf("what breaks the contract takes nothing of the quota: %v, %d left", err, q.left)
	}
	if _, err := in.Turns(ctx, "ines", "", []memory.Turn{turn("t3", "I like tea."), turn("t4", "")}); fault.Field(err) != "session_id" {
		t.Errorf("got %v, want it to name the session", err)
	}
	same := []memory.Turn{turn("t5", "I like tea."), turn("t5", "I like coffee.")}
	if _, err := in.Turns(ctx, "ines", "s", same); door.ProblemOf(err).Code != door.CodeDuplicateTurn {
		t.Errorf("two turns of one id: %v", err)
	}
	in.Out = &away{}
	if _, err := in.Turns(ctx, "ines", "s", two[:1]); err == nil || q.counted != 2 {
		t.Errorf("what is not published is not counted: %v, %d", err, q.counted)
	}
}

func TestATurnThatIsNotAcceptedLeavesTheOthersIn(t *testing.T) {
	long := turn("t2", strings.Repeat("x", memory.MaxTextBytes+1))
	tool, nameless, early, named := turn("t3", "42"), turn("t5", "I like tea."), turn("t6", "I like tea."), turn("t\u200b", "I like tea.")
	tool.Role, nameless.Speaker, early.Time = memory.RoleTool, strings.Repeat("x", 129), time.Time{}
	turns := []memory.Turn{turn("t0", "I live in Braga."), long, tool, turn("t4", " "), nameless, early, named, turn("t7", "I moved to Faro.")}
	q, out := &quota{left: 2}, &published{}
	in := upstream.Ingester{Out: out, Now: func() time.Time { return now }, Quota: q}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	left, err := in.Turns(ctx, "ines", "s", turns)
	if err != nil || len(out.msgs) != 2 || q.counted != 2 || q.left != 0 {
		t.Fatalf("%v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	want := []string{
		"turns[1].text: is 32769 bytes long, want at most 32768", `turns[2].role: is "tool", want user or assistant`,
		"turns[3].text: is empty, want 1 to 32768 bytes", "turns[4].speaker: is 129 bytes long, want at most 128",
		"turns[5].time: is in the year 1, want between 1970-01-01 and one day from now",
		"turns[6].turn_id: contains a control or invisible character",
	}
	for i, l := range left {
		if len(left) != len(want) || l.Turn != i+1 || l.Problem.Error() != want[i] || l.Problem.Status != 400 ||
			l.Problem.Code != door.CodeInvalid {
			t.Errorf("left out: %d %+v, want %s", l.Turn, l.Problem, want[i])
		}
	}
	none := upstream.NoneAccepted{}
	if left, err := in.Turns(ctx, "ines", "s", turns[1:4]); !errors.As(err, &none) || len(none) != 3 || left != nil ||
		door.ProblemOf(err).Field != "turns[0].text" || len(out.msgs) != 2 || q.left != 0 {
		t.Errorf("none: %v, %v", left, err)
	}
}

func TestNewIDsShowEveryCharacter(t *testing.T) {
	in := upstream.Ingester{Out: &published{}, Now: func() time.Time { return now }}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	for _, id := range []string{"\u200b", "a\r\nb", "..", "a\u202eb", "a\x1b"} {
		if _, err := in.Turns(ctx, id, "s", []memory.Turn{turn("t", "x")}); fault.Field(err) != "user_id" {
			t.Errorf("the user %q: %v", id, err)
		}
		if _, err := in.Turns(ctx, "ines", id, []memory.Turn{turn("t", "x")}); fault.Field(err) != "session_id" {
			t.Errorf("the session %q: %v", id, err)
		}
		if err := in.CloseSession(ctx, id, id, id, now); err != nil {
			t.Errorf("the end of an older session %q: %v", id, err)
		}
	}
}
