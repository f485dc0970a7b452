package contract

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// SessionEvent is an event from an assistant: a turn, the end of the session, or the request to erase the user.
// Exactly one of Turn, ClosedAt and ErasedAt is set.
type SessionEvent struct {
	Envelope
	// Turn is the utterance.
	Turn *memory.Turn
	// LeftOut counts the bytes that DecodeSessionEvent left out of the turn's text. Encode ignores it.
	LeftOut int
	// ClosedAt is the end of the session.
	ClosedAt time.Time
	// ErasedAt is the time of the request to erase the user.
	ErasedAt time.Time
	// IdleAfter closes the session after that time without a further event. 0 keeps the previous value.
	IdleAfter time.Duration
}

// DecodeSessionEvent decodes and checks a record of TopicSessionEvents. Its errors are
// terminal and name the field. It checks the speaker of a turn, and the ids of the turn and its attributes, as new ones
// (memory.ValidNewID). The end of a session and an erasure may have any id that an older version accepted. It shortens
// the text of a long turn (memory.Shorten), so that no later stage and no store gets more than MaxTextBytes.
func DecodeSessionEvent(key, value []byte, now time.Time) (SessionEvent, error) {
	var p mnemev1.SessionEvent
	if err := unmarshal(value, &p, "SessionEvent"); err != nil {
		return SessionEvent{}, err
	}
	if err := checkVersion(p.GetSchemaVersion()); err != nil {
		return SessionEvent{}, err
	}
	e := SessionEvent{Envelope: envelope(&p)}
	if err := checkEnvelope(e.Envelope, key); err != nil {
		return SessionEvent{}, err
	}
	if err := checkSession(e.SessionID, p.GetUserErased()); err != nil {
		return SessionEvent{}, err
	}
	var err error
	switch ev := p.GetEvent().(type) {
	case *mnemev1.SessionEvent_Turn:
		var t memory.Turn
		if err = checkNewIDs(e.Envelope); err == nil {
			t, err = newTurnFrom(ev.Turn, e.SessionID, memory.MaxTurnBytes, now)
		}
		if err == nil {
			err = checkNoAlias(t)
			t.Text, e.LeftOut = memory.Shorten(t.Text)
		}
		e.Turn = &t
	case *mnemev1.SessionEvent_SessionClosed:
		e.ClosedAt, err = timeOf("session_closed.time", ev.SessionClosed.GetTime(), now)
	case *mnemev1.SessionEvent_UserErased:
		e.ErasedAt, err = timeOf("user_erased.time", ev.UserErased.GetTime(), now)
	default:
		err = fault.Terminal("event", "is missing, want turn, session_closed or user_erased")
	}
	if err != nil {
		return SessionEvent{}, err
	}
	e.IdleAfter, err = idleAfter(p.GetIdleAfter())
	return e, err
}

// Encode encodes the event.
func (e SessionEvent) Encode() ([]byte, error) {
	p := &mnemev1.SessionEvent{
		SchemaVersion: SchemaVersion, EventId: e.EventID,
		TenantId: e.Scope.Tenant, UserId: e.Scope.User, SessionId: e.SessionID, IdleAfter: idleTo(e.IdleAfter),
	}
	switch {
	case e.Turn != nil:
		p.Event = &mnemev1.SessionEvent_Turn{Turn: TurnToProto(*e.Turn)}
	case !e.ErasedAt.IsZero():
		p.Event = &mnemev1.SessionEvent_UserErased{UserErased: &mnemev1.UserErased{Time: stamp(e.ErasedAt)}}
	default:
		p.Event = &mnemev1.SessionEvent_SessionClosed{SessionClosed: &mnemev1.SessionClosed{Time: stamp(e.ClosedAt)}}
	}
	return proto.Marshal(p)
}

type identified interface {
	GetEventId() string
	GetTenantId() string
	GetUserId() string
}

func envelope(p identified) Envelope {
	e := Envelope{EventID: p.GetEventId(), Scope: memory.Scope{Tenant: p.GetTenantId(), User: p.GetUserId()}}
	if s, ok := p.(interface{ GetSessionId() string }); ok {
		e.SessionID = s.GetSessionId()
	}
	return e
}

// TurnFrom converts and checks the source turn of a memory in the caller's own words, as DecodeSessionEvent does. It
// never shortens the text: a text over MaxTextBytes is an error. Its errors are terminal and name the field.
func TurnFrom(p *mnemev1.Turn, sessionID string, now time.Time) (memory.Turn, error) {
	if p == nil {
		return memory.Turn{}, fault.Terminal("turn", "is missing, want the source turn")
	}
	return newTurnFrom(p, sessionID, memory.MaxTextBytes, now)
}

// newTurnFrom is turnFrom for an incoming turn.
func newTurnFrom(p *mnemev1.Turn, sessionID string, maxText int, now time.Time) (memory.Turn, error) {
	t, err := turnFrom(p, sessionID, maxText, now)
	if err != nil {
		return t, err
	}
	if err := memory.ValidNewID("turn.turn_id", t.ID, memory.MaxIDBytes); err != nil {
		return t, err
	}
	if err := memory.ValidNewID("turn.speaker", t.Speaker, memory.MaxIDBytes); err != nil {
		return t, err
	}
	return t, t.Attributes.ValidateNew("turn.")
}

// saidTurn converts and checks a turn of an event. Such a turn has no alias of a memory.
func saidTurn(p *mnemev1.Turn, sessionID string, now time.Time) (memory.Turn, error) {
	t, err := turnFrom(p, sessionID, memory.MaxTextBytes, now)
	if err != nil {
		return t, err
	}
	if err := t.Attributes.Validate("turn."); err != nil {
		return t, err
	}
	return t, checkNoAlias(t)
}

// checkNoAlias refuses an alias of a memory. Only a request to update the memory has one.
func checkNoAlias(t memory.Turn) error {
	if t.AliasOf != "" {
		return fault.Terminal("turn.alias_of", "is set, want it only in UpdateMemory")
	}
	return nil
}

// turnFrom converts a turn and checks all but its attributes. maxText limits the text, in bytes.
func turnFrom(p *mnemev1.Turn, sessionID string, maxText int, now time.Time) (memory.Turn, error) {
	t := memory.Turn{
		ID: p.GetTurnId(), SessionID: sessionID, Speaker: p.GetSpeaker(),
		Text: p.GetText(), Caption: p.GetCaption(), Role: roleFrom(p.GetRole()), Attributes: attributesFrom(p),
	}
	if err := memory.ValidText("turn.turn_id", t.ID, memory.MaxIDBytes); err != nil {
		return t, err
	}
	if err := memory.ValidText("turn.speaker", t.Speaker, memory.MaxIDBytes); err != nil {
		return t, err
	}
	if t.Role == "" {
		return t, fault.Terminal("turn.role", "is %d, want ROLE_USER or ROLE_ASSISTANT", p.GetRole())
	}
	if err := memory.ValidText("turn.text", t.Text, maxText); err != nil {
		return t, err
	}
	if t.Caption != "" {
		if err := memory.ValidText("turn.caption", t.Caption, memory.MaxCaptionBytes); err != nil {
			return t, err
		}
	}
	at, err := timeOf("turn.time", p.GetTime(), now)
	if err != nil {
		return t, err
	}
	if m := p.GetUtcOffsetMinutes(); m < -maxOffset || m > maxOffset {
		return t, fault.Terminal("turn.utc_offset_minutes", "is %d, want %d to %d", m, -maxOffset, maxOffset)
	} else if t.Time = at; m != 0 {
		t.Time = at.In(time.FixedZone("", int(m)*60))
	}
	return t, nil
}

// maxOffset is the greatest offset from UTC that RFC 3339 can write, in minutes.
const maxOffset = 24*60 - 1

// TurnToProto converts a turn.
func TurnToProto(t memory.Turn) *mnemev1.Turn {
	_, offset := t.Time.Zone()
	return &mnemev1.Turn{
		TurnId: t.ID, Speaker: t.Speaker, Role: roleTo(t.Role), Text: t.Text, Caption: t.Caption,
		Time: stamp(t.Time), Metadata: structOf(t.Metadata), AgentId: t.AgentID, AppId: t.AppID, RunId: t.RunID,
		AliasOf: t.AliasOf, UtcOffsetMinutes: int32(offset / 60),
	}
}

func roleFrom(r mnemev1.Role) memory.Role {
	switch r {
	case mnemev1.Role_ROLE_USER:
		return memory.RoleUser
	case mnemev1.Role_ROLE_ASSISTANT:
		return memory.RoleAssistant
	default:
		return ""
	}
}

func roleTo(r memory.Role) mnemev1.Role {
	switch r {
	case memory.RoleUser:
		return mnemev1.Role_ROLE_USER
	case memory.RoleAssistant:
		return mnemev1.Role_ROLE_ASSISTANT
	default:
		return mnemev1.Role_ROLE_UNSPECIFIED
	}
}

// Limits of the idle time that closes a session.
const (
	MinIdleAfter = time.Second
	MaxIdleAfter = 24 * time.Hour
)

// idleAfter checks an idle time. An absent time is 0.
func idleAfter(p *durationpb.Duration) (time.Duration, error) {
	if p == nil {
		return 0, nil
	}
	d := p.AsDuration()
	if p.CheckValid() != nil || d < MinIdleAfter || d > MaxIdleAfter {
		return 0, fault.Terminal("idle_after", "is %s, want %s to %s", d, MinIdleAfter, MaxIdleAfter)
	}
	return d, nil
}

func idleTo(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
