package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/door"
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

// LeftOut is a turn that was not accepted although others of its request were.
type LeftOut struct {
	// Turn is the place of the turn in the request.
	Turn int
	// Problem says why. Its field begins with the turn ("turns[3].text").
	Problem door.Problem
}

// NoneAccepted is the error of a request without a turn that can be accepted.
type NoneAccepted []LeftOut

// Error implements error.
func (n NoneAccepted) Error() string { return n[0].Problem.Error() }

// Unwrap returns the problem of the first turn.
func (n NoneAccepted) Unwrap() error { return n[0].Problem }

// Turns publishes turns of a session in their order. If it returns no error, the bus has acknowledged every turn
// except the returned ones. It leaves out a turn that breaks the contract, or with a recent id of another turn. It
// publishes the others. After an error nothing is published. The request is wrong, is over a quota, or has no
// acceptable turn (NoneAccepted). A repeated turn with the same id has no effect on memory, but counts against the
// quota. Turns needs access.Ingest.
func (i *Ingester) Turns(ctx context.Context, user, session string, turns []memory.Turn) ([]LeftOut, error) {
	return i.TurnsUntilIdle(ctx, user, session, turns, 0)
}

// TurnsUntilIdle is Turns, and closes the session after idleAfter without a new turn. 0 keeps the current setting.
func (i *Ingester) TurnsUntilIdle(
	ctx context.Context, user, session string, turns []memory.Turn, idleAfter time.Duration,
) ([]LeftOut, error) {
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
	var kept batch
	var left []LeftOut
	for n, t := range turns {
		m, err := i.turn(scope, session, t, idleAfter)
		if err == nil {
			kept.add(n, t, m)
			continue
		}
		p, ok := inTurn(n, err)
		if !ok {
			return nil, err
		}
		left = append(left, LeftOut{n, p})
	}
	kept, used, note := i.unused(ctx, scope, session, kept)
	left = append(left, used...)
	slices.SortFunc(left, func(a, b LeftOut) int { return a.Turn - b.Turn })
	if len(kept.turns) == 0 {
		return nil, NoneAccepted(left)
	}
	if err := i.publishTurns(ctx, kept.msgs); err != nil {
		return nil, err
	}
	if err := note(); err != nil && !errors.Is(err, redisstore.ErrErased) && i.Log != nil {
		i.Log.WarnContext(ctx, "cannot record accepted turns: a lookup finds them only after their processing", "error", err)
	}
	return left, nil
}

// batch is a list of turns to publish, with their messages and their places in the request.
type batch struct {
	turns  []memory.Turn
	msgs   []bus.Message
	places []int
}

func (b *batch) add(place int, t memory.Turn, m bus.Message) {
	b.turns, b.msgs, b.places = append(b.turns, t), append(b.msgs, m), append(b.places, place)
}

// distinct refuses turns of one id: which of them is meant is unknown.
func distinct(turns []memory.Turn) error {
	seen := make(map[string]int, len(turns))
	for n, t := range turns {
		if first, ok := seen[t.ID]; ok {
			return door.Problem{
				Status: http.StatusBadRequest, Code: door.CodeDuplicateTurn, Field: fmt.Sprintf("turns[%d].id", n),
				Detail: fmt.Sprintf("is also the id of turns[%d], want unique ids", first),
			}
		}
		seen[t.ID] = n
	}
	return nil
}

// maxShownRole bounds the part of a role in an error, in bytes.
const maxShownRole = 20

// turn returns the message of a turn; its error is terminal, and names a field of the event.
func (i *Ingester) turn(scope memory.Scope, session string, t memory.Turn, idleAfter time.Duration) (bus.Message, error) {
	switch {
	case t.Role != memory.RoleUser && t.Role != memory.RoleAssistant:
		shown := strings.ToValidUTF8(string(t.Role[:min(len(t.Role), maxShownRole)]), "")
		return bus.Message{}, fault.Terminal("turn.role", "is %q, want user or assistant", shown)
	case t.Time.IsZero(): // which would be encoded as a time that is missing
		return bus.Message{}, memory.ValidTime("turn.time", t.Time, i.Now())
	}
	if err := t.Attributes.ValidateNew("turn."); err != nil { // wrong metadata may fail to encode
		return bus.Message{}, err
	}
	t.SessionID = session
	return i.message(contract.SessionEvent{
		Envelope: contract.Envelope{EventID: memory.DeriveTurnID(scope, t.ID), Scope: scope, SessionID: session}, Turn: &t,
		IdleAfter: idleAfter,
	})
}

// unused leaves out turns with a recent id of another turn, because their text would have no effect. If the lookup
// fails, all turns pass. The user's writer then finds such a turn, and puts it to the dead letters. note notes the
// kept turns after their publication.
func (i *Ingester) unused(
	ctx context.Context, scope memory.Scope, session string, b batch,
) (kept batch, used []LeftOut, note func() error) {
	if i.Accepted == nil || len(b.turns) == 0 {
		return b, nil, func() error { return nil }
	}
	places, token, err := i.Accepted.Reused(ctx, scope, session, b.turns)
	if err != nil {
		return b, nil, func() error { return err }
	}
	for n, t := range b.turns {
		if !slices.Contains(places, n) {
			kept.add(b.places[n], t, b.msgs[n])
			continue
		}
		used = append(used, LeftOut{b.places[n], door.Problem{
			Status: http.StatusConflict, Code: rpcerror.ReasonTurnUsed, Field: fmt.Sprintf("turns[%d].id", b.places[n]),
			Detail: "is the id of a turn with another session or text, want a new id",
		}})
	}
	return kept, used, func() error { return i.Accepted.NoteTurns(ctx, scope, token, session, kept.turns) }
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
	m, err := i.message(contract.SessionEvent{
		Envelope: contract.Envelope{EventID: memory.DeriveSessionID(scope, session+"\n"+last), Scope: scope, SessionID: session}, ClosedAt: at,
	})
	if err != nil {
		return err
	}
	return i.Out.Publish(ctx, m) // not noted: turns make a session, and its end does not
}

// inTurn turns an error about a turn into a problem of the n-th turn of a request. ok is false for an error about
// all turns, such as an error about the session.
func inTurn(n int, err error) (p door.Problem, ok bool) {
	var t *fault.TerminalError
	if !errors.As(err, &t) {
		return p, false
	}
	in, ok := strings.CutPrefix(t.Field, "turn")
	if t.Field != "" && (!ok || in != "" && in[0] != '.') {
		return p, false
	}
	return door.Invalid(fmt.Sprintf("turns[%d]%s", n, in), t.Err.Error()), true
}

func (i *Ingester) scope(ctx context.Context, user string) (memory.Scope, error) {
	if err := Check(ctx, access.Ingest, user); err != nil {
		return memory.Scope{}, err
	}
	p, _ := access.FromContext(ctx) // checked
	return memory.Scope{Tenant: p.Tenant.ID, User: user}, memory.ValidUser(user)
}

// message encodes an event and reads it back, as its consumers will.
func (i *Ingester) message(e contract.SessionEvent) (bus.Message, error) {
	value, err := e.Encode()
	if err != nil {
		return bus.Message{}, fault.Terminal("", "cannot be encoded: %v", err)
	}
	if _, err := contract.DecodeSessionEvent(e.Key(), value, i.Now()); err != nil {
		return bus.Message{}, err
	}
	return bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value}, nil
}
