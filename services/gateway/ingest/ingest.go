// Package ingest publishes the turns of callers as session events.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// MaxTurns is how many turns one call may put in.
const MaxTurns = 200

// TurnQuota bounds and counts turns; *quota.Quota is one.
type TurnQuota interface {
	// Turns returns an error for the caller if n turns are over the quota of the principal's tenant.
	Turns(ctx context.Context, p access.Principal, n int) error
	// Count counts n of what ("turns") for the principal's tenant.
	Count(ctx context.Context, p access.Principal, what string, n int)
}

// Ingester publishes turns. It is safe for concurrent use.
type Ingester struct {
	// Out publishes with acknowledgement of all in-sync replicas.
	Out bus.Publisher
	Now func() time.Time
	// Quota limits turns before they are published, and counts published turns. nil means no limit.
	Quota TurnQuota
	// Accepted notes published turns and their sessions. nil means no notes.
	Accepted Accepted
	// Log receives failures of Accepted. nil means no log.
	Log *slog.Logger
}

// Accepted notes turns on their way, which separates them from unknown turns. *idempotency.Store implements it.
type Accepted interface {
	// Reused returns the places of turns with an id that was accepted for another session or text. It also returns
	// the token for NoteTurns.
	Reused(ctx context.Context, scope memory.Scope, session string, turns []memory.Turn) ([]int, redisstore.Token, error)
	// NoteTurns notes the accepted turns of a session, with their text, unless the user was erased since the token.
	NoteTurns(ctx context.Context, scope memory.Scope, token redisstore.Token, session string, turns []memory.Turn) error
}

// Turn is a turn of a request.
type Turn struct {
	memory.Turn
	// Wrong is the error of an unreadable turn, with a field that begins with the turn ("turns[3].content"). The
	// ingester leaves such a turn out. It is nil for a readable turn.
	Wrong error
}

// Outcome is the result of a turn that Mneme does not remember completely. Exactly one of Problem, NotRemembered and
// Shortened is set.
type Outcome struct {
	// Turn is the place of the turn in the request.
	Turn int
	// Problem is the reason why the turn was left out. Its field begins with the turn ("turns[3].text").
	Problem problem.Problem
	// NotRemembered is the reason why no memory can be formed from a valid turn. Such a turn is not published.
	NotRemembered string
	// Shortened is the number of bytes that were left out of the text of an accepted turn.
	Shortened int
}

// IsPublished reports whether the turn was published.
func (o Outcome) IsPublished() bool { return o.Shortened > 0 }

// IsLeftOut reports whether the turn was left out.
func (o Outcome) IsLeftOut() bool { return o.Problem.Status != 0 }

// NoneAccepted is the error of a request with left-out turns and without an accepted turn. It has the left-out turns.
type NoneAccepted []Outcome

// Error implements error.
func (n NoneAccepted) Error() string { return n[0].Problem.Error() }

// Unwrap returns the problem of the first left-out turn.
func (n NoneAccepted) Unwrap() error { return n[0].Problem }

// Turns publishes turns of a session in their order. If it returns no error, the bus has acknowledged every turn except
// those left out. Turns leaves out a turn that is wrong, that breaks the contract, or with a recent id of another turn.
// It publishes the others, and shortens their long texts. It does not publish the turns of the roles system, developer,
// tool and function. It returns the outcomes of all these turns, in order. After an error nothing is published. The
// request is wrong, is over a quota, or has left-out turns and no acceptable one (NoneAccepted). A repeated turn with
// the same id has no effect on memory, but counts against the quota. Turns needs access.Ingest.
func (i *Ingester) Turns(ctx context.Context, user, session string, turns []Turn) ([]Outcome, error) {
	return i.TurnsUntilIdle(ctx, user, session, turns, 0)
}

// TurnsUntilIdle is Turns, and closes the session after idleAfter without a new turn. 0 keeps the current setting.
func (i *Ingester) TurnsUntilIdle(
	ctx context.Context, user, session string, turns []Turn, idleAfter time.Duration,
) ([]Outcome, error) {
	scope, err := i.scope(ctx, user)
	if err != nil {
		return nil, err
	}
	if len(turns) == 0 || len(turns) > MaxTurns {
		return nil, fault.Terminal("turns", "has %d turns, want 1 to %d", len(turns), MaxTurns)
	}
	if err := distinct(turns); err != nil {
		return nil, err
	}
	kept, left, err := i.read(scope, session, turns, idleAfter)
	if err != nil {
		return nil, err
	}
	kept, used, note := i.unused(ctx, scope, session, kept)
	left = append(left, used...)
	slices.SortFunc(left, func(a, b Outcome) int { return a.Turn - b.Turn })
	if len(kept) == 0 {
		return withoutPublished(left)
	}
	if err := i.publishTurns(ctx, kept.messages()); err != nil {
		return nil, err
	}
	if err := note(); err != nil && !errors.Is(err, redisstore.ErrErased) && i.Log != nil {
		i.Log.WarnContext(ctx, "cannot record accepted turns: a lookup finds them only after their processing", "error", err)
	}
	out := slices.Concat(left, kept.shortened())
	slices.SortFunc(out, func(a, b Outcome) int { return a.Turn - b.Turn })
	return out, nil
}

// withoutPublished is the result of a request without a turn to publish.
func withoutPublished(outcomes []Outcome) ([]Outcome, error) {
	wrong := slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return !o.IsLeftOut() })
	if len(wrong) > 0 {
		return nil, NoneAccepted(wrong)
	}
	return outcomes, nil
}

// read returns the turns that fulfil the contract, and the outcomes of the others.
func (i *Ingester) read(
	scope memory.Scope, session string, turns []Turn, idleAfter time.Duration,
) (kept batch, left []Outcome, err error) {
	for n, turn := range turns {
		if turn.Wrong != nil {
			left = append(left, Outcome{Turn: n, Problem: problem.From(turn.Wrong)})
			continue
		}
		t := turn.Turn
		reason := chat.NotRemembered(t.Role)
		if reason != "" { // its fields have to be right all the same; only the text may be missing
			t.Role, t.Text = memory.RoleUser, cmp.Or(t.Text, "-")
		}
		r, err := i.turn(scope, session, t, idleAfter)
		if err == nil && reason != "" {
			left = append(left, Outcome{Turn: n, NotRemembered: reason})
			continue
		}
		if err == nil {
			r.place = n
			kept = append(kept, r)
			continue
		}
		p, ok := inTurn(n, err)
		if !ok {
			return nil, nil, err
		}
		left = append(left, Outcome{Turn: n, Problem: p})
	}
	return kept, left, nil
}

// batch is a list of turns to publish.
type batch []readTurn

// readTurn is a checked turn with its message and its place in the request.
type readTurn struct {
	memory.Turn
	msg   bus.Message
	place int
	// shortened is the number of bytes left out of the text.
	shortened int
}

func (b batch) turns() []memory.Turn {
	out := make([]memory.Turn, len(b))
	for i, r := range b {
		out[i] = r.Turn
	}
	return out
}

func (b batch) messages() []bus.Message {
	out := make([]bus.Message, len(b))
	for i, r := range b {
		out[i] = r.msg
	}
	return out
}

func (b batch) shortened() (out []Outcome) {
	for _, r := range b {
		if r.shortened > 0 {
			out = append(out, Outcome{Turn: r.place, Shortened: r.shortened})
		}
	}
	return out
}

// distinct refuses turns of one id: which of them is meant is unknown.
func distinct(turns []Turn) error {
	seen := make(map[string]int, len(turns))
	for n, t := range turns {
		if first, ok := seen[t.ID]; ok {
			return problem.Problem{
				Status: http.StatusBadRequest, Code: problem.CodeDuplicateTurn, Field: fmt.Sprintf("turns[%d].id", n),
				Detail: fmt.Sprintf("is also the id of turns[%d], want unique ids", first),
			}
		}
		seen[t.ID] = n
	}
	return nil
}

// maxShownRole bounds the part of a role in an error, in bytes.
const maxShownRole = 20

// turn returns a checked turn; its error is terminal, and names a field of the event.
func (i *Ingester) turn(
	scope memory.Scope, session string, t memory.Turn, idleAfter time.Duration,
) (out readTurn, err error) {
	switch {
	case t.Role != memory.RoleUser && t.Role != memory.RoleAssistant:
		shown := strings.ToValidUTF8(string(t.Role[:min(len(t.Role), maxShownRole)]), "")
		return out, fault.Terminal("turn.role", "is %q, want user or assistant", shown)
	case t.Time.IsZero(): // which would be encoded as a time that is missing
		return out, memory.ValidTime("turn.time", t.Time, i.Now())
	}
	if err := t.Attributes.ValidateNew("turn."); err != nil { // wrong metadata may fail to encode
		return out, err
	}
	t.SessionID = session
	e := contract.SessionEvent{
		Envelope: contract.Envelope{EventID: memory.DeriveTurnID(scope, t.ID), Scope: scope, SessionID: session}, Turn: &t,
		IdleAfter: idleAfter,
	}
	m, read, err := i.message(e)
	if err != nil {
		return out, err
	}
	out.shortened = read.LeftOut
	if out.shortened > 0 {
		if m, read, err = i.message(read); err != nil {
			return out, err
		}
	}
	t.Text = read.Turn.Text
	out.Turn, out.msg = t, m
	return out, nil
}

// unused leaves out turns with a recent id of another turn, because their text would have no effect. If the lookup
// fails, all turns pass. The user's writer then finds such a turn, and puts it to the dead letters. note notes the
// kept turns after their publication.
func (i *Ingester) unused(
	ctx context.Context, scope memory.Scope, session string, b batch,
) (kept batch, used []Outcome, note func() error) {
	if i.Accepted == nil || len(b) == 0 {
		return b, nil, func() error { return nil }
	}
	places, token, err := i.Accepted.Reused(ctx, scope, session, b.turns())
	if err != nil {
		return b, nil, func() error { return err }
	}
	for n, r := range b {
		if !slices.Contains(places, n) {
			kept = append(kept, r)
			continue
		}
		used = append(used, Outcome{Turn: r.place, Problem: problem.Problem{
			Status: http.StatusConflict, Code: rpcerror.ReasonTurnUsed, Field: fmt.Sprintf("turns[%d].id", r.place),
			Detail: "is the id of a turn with another session or text, want a new id",
		}})
	}
	return kept, used, func() error { return i.Accepted.NoteTurns(ctx, scope, token, session, kept.turns()) }
}

// publishTurns publishes turns within the quota of the caller.
func (i *Ingester) publishTurns(ctx context.Context, msgs []bus.Message) error {
	if i.Quota == nil {
		return i.Out.Publish(ctx, msgs...)
	}
	p, _ := access.FromContext(ctx) // checked
	if err := i.Quota.Turns(ctx, p, len(msgs)); err != nil {
		return err
	}
	if err := i.Out.Publish(ctx, msgs...); err != nil {
		return err
	}
	i.Quota.Count(ctx, p, "turns", len(msgs))
	return nil
}

// CloseSession publishes the end of a session, so that its memories form now. last is the id of its last turn, as
// far as the caller has it. A session that continues and ends again closes anew. CloseSession needs access.Ingest.
func (i *Ingester) CloseSession(ctx context.Context, user, session, last string, at time.Time) error {
	scope, err := i.scope(ctx, user)
	if err != nil {
		return err
	}
	m, _, err := i.message(contract.SessionEvent{
		Envelope: contract.Envelope{EventID: memory.DeriveSessionID(scope, session+"\n"+last), Scope: scope,
			SessionID: session}, ClosedAt: at,
	})
	if err != nil {
		return err
	}
	return i.Out.Publish(ctx, m) // not noted: turns make a session, and its end does not
}

// inTurn turns an error about a turn into a problem of the n-th turn of a request. ok is false for an error about
// all turns, such as an error about the session.
func inTurn(n int, err error) (p problem.Problem, ok bool) {
	var t *fault.TerminalError
	if !errors.As(err, &t) {
		return p, false
	}
	in, ok := strings.CutPrefix(t.Field, "turn")
	if t.Field != "" && (!ok || in != "" && in[0] != '.') {
		return p, false
	}
	return problem.Invalid(fmt.Sprintf("turns[%d]%s", n, in), t.Err.Error()), true
}

func (i *Ingester) scope(ctx context.Context, user string) (memory.Scope, error) {
	if err := backend.Check(ctx, access.Ingest, user); err != nil {
		return memory.Scope{}, err
	}
	p, _ := access.FromContext(ctx) // checked
	return memory.Scope{Tenant: p.Tenant.ID, User: user}, memory.ValidUser(user)
}

// message encodes an event and reads it back, as its consumers will.
func (i *Ingester) message(e contract.SessionEvent) (m bus.Message, read contract.SessionEvent, err error) {
	value, err := e.Encode()
	if err != nil {
		return m, read, fault.Terminal("", "cannot be encoded: %v", err)
	}
	if read, err = contract.DecodeSessionEvent(e.Key(), value, i.Now()); err != nil {
		return m, read, err
	}
	return bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value}, read, nil
}
