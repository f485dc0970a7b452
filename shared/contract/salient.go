package contract

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// SalientEvent is the filter's result for a session event. Exactly one of Turn, Dropped, ClosedAt and ErasedAt is
// set.
type SalientEvent struct {
	Envelope
	// Turn is the turn that passed.
	Turn *memory.Turn
	// Dropped is the turn that did not pass. It may be without its text.
	Dropped *memory.Turn
	// ClosedAt is the end of the session.
	ClosedAt time.Time
	// ErasedAt is the time of the request to erase the user.
	ErasedAt time.Time
	// IdleAfter closes the session after that time without a further event. 0 keeps the previous value.
	IdleAfter time.Duration
	// Decision is the filter's verdict on Turn or Dropped.
	Decision memory.SaliencyDecision
}

// DecodeSalientEvent decodes and checks a record of TopicSalientTurns. Its errors are terminal and name the field.
func DecodeSalientEvent(key, value []byte, now time.Time) (SalientEvent, error) {
	var p mnemev1.SalientEvent
	if err := unmarshal(value, &p, "SalientEvent"); err != nil {
		return SalientEvent{}, err
	}
	if err := checkVersion(p.GetSchemaVersion()); err != nil {
		return SalientEvent{}, err
	}
	e := SalientEvent{Envelope: envelope(&p)}
	if err := checkEnvelope(e.Envelope, key); err != nil {
		return SalientEvent{}, err
	}
	if err := checkSession(e.SessionID, p.GetUserErased()); err != nil {
		return SalientEvent{}, err
	}
	var err error
	switch ev := p.GetEvent().(type) {
	case *mnemev1.SalientEvent_Turn:
		var t memory.Turn
		t, err = saidTurn(ev.Turn.GetTurn(), e.SessionID, now)
		e.Turn, e.Decision = &t, decisionFrom(ev.Turn.GetDecision(), true)
	case *mnemev1.SalientEvent_Dropped:
		e.Dropped = &memory.Turn{ID: ev.Dropped.GetTurnId(), SessionID: e.SessionID, Time: ev.Dropped.GetTime().AsTime()}
		if said := ev.Dropped.GetTurn(); said != nil {
			var t memory.Turn
			t, err = saidTurn(said, e.SessionID, now)
			e.Dropped = &t
		}
		e.Decision = decisionFrom(ev.Dropped.GetDecision(), false)
	case *mnemev1.SalientEvent_SessionClosed:
		e.ClosedAt, err = timeOf("session_closed.time", ev.SessionClosed.GetTime(), now)
	case *mnemev1.SalientEvent_UserErased:
		e.ErasedAt, err = timeOf("user_erased.time", ev.UserErased.GetTime(), now)
	default:
		err = fault.Terminal("event", "is missing, want turn, dropped, session_closed or user_erased")
	}
	if err != nil {
		return SalientEvent{}, err
	}
	if e.IdleAfter, err = idleAfter(p.GetIdleAfter()); err != nil {
		return SalientEvent{}, err
	}
	return e, checkDecision(e.Decision)
}

// checkDecision refuses figures that are no numbers. They can neither be stored nor encoded as JSON.
func checkDecision(d memory.SaliencyDecision) error {
	for field, x := range map[string]float64{"decision.score": d.Score, "decision.threshold": d.Threshold} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fault.Terminal(field, "is %g, want a number from 0 to 1", x)
		}
	}
	return nil
}

// Encode encodes the event.
func (e SalientEvent) Encode() ([]byte, error) {
	p := &mnemev1.SalientEvent{
		SchemaVersion: SchemaVersion, EventId: e.EventID,
		TenantId: e.Scope.Tenant, UserId: e.Scope.User, SessionId: e.SessionID, IdleAfter: idleTo(e.IdleAfter),
	}
	switch {
	case e.Turn != nil:
		p.Event = &mnemev1.SalientEvent_Turn{Turn: &mnemev1.SalientTurn{
			Turn: TurnToProto(*e.Turn), Decision: SaliencyToProto(e.Decision),
		}}
	case e.Dropped != nil:
		d := &mnemev1.DroppedTurn{TurnId: e.Dropped.ID, Time: stamp(e.Dropped.Time), Decision: SaliencyToProto(e.Decision)}
		if e.Dropped.Text != "" {
			d.Turn = TurnToProto(*e.Dropped)
		}
		p.Event = &mnemev1.SalientEvent_Dropped{Dropped: d}
	case !e.ClosedAt.IsZero():
		p.Event = &mnemev1.SalientEvent_SessionClosed{SessionClosed: &mnemev1.SessionClosed{Time: stamp(e.ClosedAt)}}
	case !e.ErasedAt.IsZero():
		p.Event = &mnemev1.SalientEvent_UserErased{UserErased: &mnemev1.UserErased{Time: stamp(e.ErasedAt)}}
	default:
		return nil, fault.Terminal("event", "is missing, want turn, dropped, session_closed or user_erased")
	}
	return proto.Marshal(p)
}

var modes = map[memory.SaliencyMode]mnemev1.SaliencyMode{
	memory.SaliencyGate: mnemev1.SaliencyMode_SALIENCY_MODE_GATE,
	memory.SaliencyMark: mnemev1.SaliencyMode_SALIENCY_MODE_MARK,
	memory.SaliencyOff:  mnemev1.SaliencyMode_SALIENCY_MODE_OFF,
}

// decisionFrom reads a decision. The argument passed says whether its turn passed. It supplies a field that older
// filters omit.
func decisionFrom(p *mnemev1.SaliencyDecision, passed bool) memory.SaliencyDecision {
	d := memory.SaliencyDecision{
		Salient: passed, Score: p.GetScore(), Threshold: p.GetThreshold(), PolicyVersion: p.GetPolicyVersion(),
		Mode: keyOf(modes, p.GetMode()),
	}
	if p != nil && p.Salient != nil {
		d.Salient = p.GetSalient()
	}
	if at := p.GetDecidedAt(); at != nil {
		d.DecidedAt = at.AsTime()
	}
	return d
}

// SaliencyToProto converts a decision of the filter.
func SaliencyToProto(d memory.SaliencyDecision) *mnemev1.SaliencyDecision {
	p := &mnemev1.SaliencyDecision{
		Score: d.Score, Threshold: d.Threshold, PolicyVersion: d.PolicyVersion, DecidedAt: stamp(d.DecidedAt),
		Mode: modes[d.Mode],
	}
	if d.Mode != "" {
		p.Salient = &d.Salient
	}
	return p
}
