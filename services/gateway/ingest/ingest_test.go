package ingest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/shared/tenant"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	in := ingest.Ingester{Out: out, Now: func() time.Time { return now }, Quota: q}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	two := []ingest.Turn{turn("t1", "I live in Porto."), turn("t2", "I like tea.")}
	if _, err := in.Turns(ctx, "ines", "s", two); err != nil || len(out.msgs) != 2 || q.counted != 2 {
		t.Errorf("within: %v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	if _, err := in.Turns(ctx, "ines", "s", two); !errors.Is(err, errOver) || len(out.msgs) != 2 || q.counted != 2 {
		t.Errorf("over: %v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	if _, err := in.Turns(ctx, "ines", "s", []ingest.Turn{turn("t3", " ")}); err == nil || q.left != 1 {
		t.Errorf("what breaks the contract takes nothing of the quota: %v, %d left", err, q.left)
	}
	if _, err := in.Turns(ctx, "ines", "", []ingest.Turn{turn("t3", "I like tea."),
		turn("t4", "")}); fault.Field(err) != "session_id" {
		t.Errorf("got %v, want it to name the session", err)
	}
	same := []ingest.Turn{turn("t5", "I like tea."), turn("t5", "I like coffee.")}
	if _, err := in.Turns(ctx, "ines", "s", same); problem.From(err).Code != problem.CodeDuplicateTurn {
		t.Errorf("two turns of one id: %v", err)
	}
	in.Out = &away{}
	if _, err := in.Turns(ctx, "ines", "s", two[:1]); err == nil || q.counted != 2 {
		t.Errorf("what is not published is not counted: %v, %d", err, q.counted)
	}
}

func TestATurnThatIsNotAcceptedLeavesTheOthersIn(t *testing.T) {
	long := turn("t2", strings.Repeat("x", memory.MaxTurnBytes+1))
	tool, nameless, early, named := turn("t3", "42"), turn("t5", "I like tea."), turn("t6", "I like tea."),
		turn("t\u200b", "I like tea.")
	tool.Role, nameless.Speaker, early.Time = "narrator", strings.Repeat("x", 129), time.Time{}
	turns := []ingest.Turn{turn("t0", "I live in Braga."), long, tool, turn("t4", " "), nameless, early, named,
		turn("t7", "I moved to Faro.")}
	q, out := &quota{left: 2}, &published{}
	in := ingest.Ingester{Out: out, Now: func() time.Time { return now }, Quota: q}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	left, err := in.Turns(ctx, "ines", "s", turns)
	if err != nil || len(out.msgs) != 2 || q.counted != 2 || q.left != 0 {
		t.Fatalf("%v, %d published, %d counted", err, len(out.msgs), q.counted)
	}
	want := []string{
		"turns[1].text: is 524289 bytes long, want at most 524288", `turns[2].role: is "narrator", want user or assistant`,
		"turns[3].text: is empty, want 1 to 524288 bytes", "turns[4].speaker: is 129 bytes long, want at most 128",
		"turns[5].time: is in the year 1, want between 1970-01-01 and one day from now",
		"turns[6].turn_id: contains a control or invisible character",
	}
	for i, l := range left {
		if len(left) != len(want) || l.Turn != i+1 || l.Problem.Error() != want[i] || l.Problem.Status != 400 ||
			l.Problem.Code != problem.CodeInvalid {
			t.Errorf("left out: %d %+v, want %s", l.Turn, l.Problem, want[i])
		}
	}
	none := ingest.NoneAccepted{}
	if left, err := in.Turns(ctx, "ines", "s", turns[1:4]); !errors.As(err, &none) || len(none) != 3 || left != nil ||
		problem.From(err).Field != "turns[0].text" || len(out.msgs) != 2 || q.left != 0 {
		t.Errorf("none: %v, %v", left, err)
	}
}

// An unreadable turn is left out alone. Alone in a request, it refuses the request.
func TestAnUnreadableTurnLeavesTheOthersIn(t *testing.T) {
	out := &published{}
	in := ingest.Ingester{Out: out, Now: func() time.Time { return now }}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	wrong := turn("t1", "")
	wrong.Wrong = problem.Invalid("turns[1].content", "is a number, want text")
	left, err := in.Turns(ctx, "ines", "s", []ingest.Turn{turn("t0", "I live in Braga."), wrong,
		turn("t2", "I like tea.")})
	if err != nil || len(out.msgs) != 2 || len(left) != 1 || left[0].Turn != 1 ||
		left[0].Problem.Field != "turns[1].content" {
		t.Errorf("left out %+v, %v, %d published", left, err, len(out.msgs))
	}
	none := ingest.NoneAccepted{}
	if _, err := in.Turns(ctx, "ines", "s", []ingest.Turn{wrong}); !errors.As(err, &none) || len(out.msgs) != 2 {
		t.Errorf("alone: %v", err)
	}
}

// A turn that is not remembered is not wrong, and is not accepted.
func TestARequestWithAWrongTurnAndNoAcceptedTurnIsRefused(t *testing.T) {
	out := &published{}
	in := ingest.Ingester{Out: out, Now: func() time.Time { return now }}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	system := turn("t0", "Be brief.")
	system.Role = "system"
	outcomes, err := in.Turns(ctx, "ines", "s", []ingest.Turn{system})
	if err != nil || len(outcomes) != 1 || outcomes[0].NotRemembered == "" {
		t.Errorf("a turn that is not remembered: %+v, %v", outcomes, err)
	}
	none := ingest.NoneAccepted{}
	if outcomes, err := in.Turns(ctx, "ines", "s", []ingest.Turn{system, turn("t1", " ")}); !errors.As(err, &none) ||
		outcomes != nil ||
		len(none) != 1 || problem.From(err).Field != "turns[1].text" || len(out.msgs) > 0 {
		t.Errorf("with a wrong turn: %+v, %v", outcomes, err)
	}
}

// accepted notes turns by id and text.
type accepted map[string]string

func (a accepted) Reused(
	_ context.Context, _ memory.Scope, _ string, turns []memory.Turn,
) (places []int, _ redisstore.Token, _ error) {
	for i, t := range turns {
		if text, ok := a[t.ID]; ok && text != t.Text {
			places = append(places, i)
		}
	}
	return places, "", nil
}

func (a accepted) NoteTurns(
	_ context.Context, _ memory.Scope, _ redisstore.Token, _ string, turns []memory.Turn,
) error {
	for _, t := range turns {
		a[t.ID] = t.Text
	}
	return nil
}

func TestALongTurnIsPublishedShortened(t *testing.T) {
	out, noted := &published{}, accepted{}
	in := ingest.Ingester{Out: out, Now: func() time.Time { return now }, Accepted: noted}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	long := turn("t1", strings.Repeat("x", memory.MaxTurnBytes))
	turns := []ingest.Turn{turn("t0", "I live in Braga."), long}
	for range 2 { // the repetition is the same turn
		outcomes, err := in.Turns(ctx, "ines", "s", turns)
		if err != nil || len(outcomes) != 1 || outcomes[0].Turn != 1 || outcomes[0].IsLeftOut() ||
			outcomes[0].Shortened < memory.MaxTurnBytes-memory.MaxTextBytes {
			t.Fatalf("%v, %+v", err, outcomes)
		}
	}
	if len(out.msgs) != 4 || len(out.msgs[1].Value) > memory.MaxTextBytes+1<<10 || len(noted["t1"]) > memory.MaxTextBytes {
		t.Errorf("%d published, %d bytes, %d noted", len(out.msgs), len(out.msgs[1].Value), len(noted["t1"]))
	}
}

func TestNewIDsShowEveryCharacter(t *testing.T) {
	in := ingest.Ingester{Out: &published{}, Now: func() time.Time { return now }}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	for _, id := range []string{"\u200b", "a\r\nb", "..", "a\u202eb", "a\x1b"} {
		if _, err := in.Turns(ctx, id, "s", []ingest.Turn{turn("t", "x")}); fault.Field(err) != "user_id" {
			t.Errorf("the user %q: %v", id, err)
		}
		if _, err := in.Turns(ctx, "ines", id, []ingest.Turn{turn("t", "x")}); fault.Field(err) != "session_id" {
			t.Errorf("the session %q: %v", id, err)
		}
		if err := in.CloseSession(ctx, id, id, id, now); err != nil {
			t.Errorf("the end of an older session %q: %v", id, err)
		}
	}
}

// caller returns a caller with the scopes, for one user only if user is set.
func caller(user string, scopes ...access.Scope) access.Principal {
	return access.Principal{Tenant: tenant.Tenant{ID: "acme"}, KeyID: "k", User: user, Scopes: scopes}
}

// published records the published messages.
type published struct{ msgs []bus.Message }

func (p *published) Publish(_ context.Context, msgs ...bus.Message) error {
	p.msgs = append(p.msgs, msgs...)
	return nil
}

func (*published) Close() error { return nil }

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func turn(id, text string) ingest.Turn {
	return ingest.Turn{Turn: memory.Turn{ID: id, Speaker: "Ines", Role: memory.RoleUser, Text: text, Time: now}}
}

func TestTurnsArePublishedAsEventsOfTheCallersTenant(t *testing.T) {
	out := &published{}
	in := ingest.Ingester{Out: out, Now: func() time.Time { return now }}
	ctx := access.NewContext(t.Context(), caller("", access.Ingest))
	if _, err := in.Turns(ctx, "ines", "s", []ingest.Turn{turn("t1", "I live in Porto."),
		turn("t2", "I like tea.")}); err != nil {
		t.Fatal(err)
	}
	if err := in.CloseSession(ctx, "ines", "s", "t2", now); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range out.msgs {
		e, err := contract.DecodeSessionEvent(m.Key, m.Value, now)
		if err != nil || e.Scope != (memory.Scope{Tenant: "acme", User: "ines"}) || m.Topic != contract.TopicSessionEvents {
			t.Fatalf("%+v, %v", e, err)
		}
		if e.Turn != nil {
			got = append(got, e.Turn.Text)
		} else {
			got = append(got, "closed "+e.SessionID)
		}
	}
	if !slices.Equal(got, []string{"I live in Porto.", "I like tea.", "closed s"}) {
		t.Errorf("published %q", got)
	}
}

func TestNothingIsPublishedOfARequestThatBreaksTheContract(t *testing.T) {
	for name, c := range map[string]struct {
		who   access.Principal
		user  string
		turns []ingest.Turn
		field string
		code  connect.Code
	}{
		"an empty text": {caller("", access.Ingest), "ines", []ingest.Turn{turn("t2", " ")}, "turns[0].text", 0},
		"no turns":      {caller("", access.Ingest), "ines", nil, "turns", 0},
		"too many":      {caller("", access.Ingest), "ines", make([]ingest.Turn, ingest.MaxTurns+1), "turns", 0},
		"no user":       {caller("", access.Ingest), "", []ingest.Turn{turn("t1", "a")}, "user_id", 0},
		"an id of 10 KB": {caller("", access.Ingest), "ines", []ingest.Turn{turn(strings.Repeat("x", 10<<10), "a")},
			"turns[0].turn_id", 0},
		"text not in UTF-8": {caller("", access.Ingest), "ines", []ingest.Turn{turn("t1", "\xff")}, "turns[0]", 0},
		"another user": {caller("ben", access.Ingest), "ines", []ingest.Turn{turn("t1", "a")}, "",
			connect.CodePermissionDenied},
		"another scope": {caller("", access.Read), "ines", []ingest.Turn{turn("t1", "a")}, "",
			connect.CodePermissionDenied},
	} {
		out := &published{}
		in := ingest.Ingester{Out: out, Now: func() time.Time { return now }}
		_, err := in.Turns(access.NewContext(t.Context(), c.who), c.user, "s", c.turns)
		p := problem.From(err)
		if err == nil || p.Field != c.field || len(out.msgs) > 0 {
			t.Errorf("%s: got %v about %q, want one about %q", name, err, p.Field, c.field)
		}
		if c.code != 0 && connect.CodeOf(err) != c.code || c.code == 0 && p.Status != http.StatusBadRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
