package conversations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// FormationPoll is the pause between two questions whether a session is formed.
const FormationPoll = 50 * time.Millisecond

// Published is the result of publishing sessions.
type Published struct {
	// Awaited are the sessions whose end the service will accept.
	Awaited []dataset.Session
	// Turns is the number of turns that the service will accept.
	Turns int
	// Shortened is the number of these turns whose text the service will shorten.
	Shortened int
	// Refused names each event that the service will move to the dead letters, with the reason.
	Refused []string
	// Dead names each turn that became a dead letter although the service accepted it, if the command waited.
	Dead []string
}

// Publish publishes sessions as events and calls done after each with its number of turns. Event ids are derived from
// the turns, so a repeated publish has no effect. An event that breaks the contract is also published and reported.
// It becomes a dead letter, so that no data of a file is lost.
func Publish(
	ctx context.Context, s *console.Session, sessions []dataset.Session, done func(turns int),
) (Published, error) {
	var out Published
	busClient, err := openBus(ctx, s)
	if err != nil {
		return out, err
	}
	defer busClient.Close()
	tracer := s.Telemetry.Tracer.Tracer(wiring.Scope)
	for _, session := range sessions {
		msgs, err := messages(memory.Scope{Tenant: s.Tenant, User: session.User}, session)
		if err == nil {
			err = publishSession(ctx, tracer, busClient.Publisher, s.Tenant, session, msgs)
		}
		if err != nil {
			return out, fmt.Errorf("publish session %s of %s: %w", session.ID, session.User, err)
		}
		out.check(session, msgs)
		done(len(session.Turns))
	}
	return out, nil
}

func openBus(ctx context.Context, s *console.Session) (*wiring.BusClient, error) {
	if len(s.Brokers) == 0 || s.Tenant == "" {
		return nil, command.Usage(errors.New("publishing needs --brokers (or " + console.EnvBrokers +
			") and --tenant (or " + console.EnvTenant + ")"))
	}
	busClient, err := wiring.Bus{Brokers: s.Brokers, Partitions: 24}.Open(ctx, "mneme-cli", s.Telemetry)
	if err != nil {
		return nil, fmt.Errorf("connect to kafka: %w", err)
	}
	return busClient, nil
}

// check checks a session's events against the contract, as the service will.
func (p *Published) check(s dataset.Session, msgs []bus.Message) {
	for i, m := range msgs {
		e, err := contract.DecodeSessionEvent(m.Key, m.Value, time.Now())
		switch {
		case err == nil && i < len(s.Turns):
			p.Turns++
			if e.LeftOut > 0 {
				p.Shortened++
			}
		case err == nil:
			p.Awaited = append(p.Awaited, s)
		case i == len(s.Turns):
			p.Refused = append(p.Refused, fmt.Sprintf("end of session %s of %s: %v", s.ID, s.User, err))
		default:
			p.Refused = append(p.Refused, fmt.Sprintf("turn %s of session %s of %s: %v", s.Turns[i].ID, s.ID, s.User, err))
		}
	}
}

// publishSession publishes one session under one trace.
func publishSession(
	ctx context.Context, tracer trace.Tracer, out bus.Publisher, tenant string, s dataset.Session, msgs []bus.Message,
) error {
	ctx, span := tracer.Start(ctx, "ingest session", trace.WithNewRoot(), trace.WithAttributes(
		telemetry.AttrTenant.String(tenant), telemetry.AttrSession.String(s.ID),
		attribute.Int(string(telemetry.AttrTurns), len(s.Turns))))
	defer span.End()
	return out.Publish(ctx, msgs...)
}

// messages returns a session's events: its turns and its end.
func messages(scope memory.Scope, s dataset.Session) ([]bus.Message, error) {
	last := ""
	events := make([]contract.SessionEvent, 0, len(s.Turns)+1)
	for _, t := range s.Turns {
		last = t.ID
		events = append(events, contract.SessionEvent{
			Envelope: contract.Envelope{EventID: memory.DeriveTurnID(scope, t.ID), Scope: scope, SessionID: s.ID}, Turn: &t,
		})
	}
	events = append(events, contract.SessionEvent{
		// The last turn's id is part of the event id, so a longer version of the session closes again.
		Envelope: contract.Envelope{EventID: memory.DeriveSessionID(scope, s.ID+"\n"+last), Scope: scope, SessionID: s.ID},
		ClosedAt: closing(s),
	})
	out := make([]bus.Message, len(events))
	for i, e := range events {
		value, err := e.Encode()
		if err != nil {
			return nil, err
		}
		out[i] = bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value}
	}
	return out, nil
}

// closing returns the time of a session's end. If the service refuses this time, it returns the last accepted time of
// a turn. So the accepted turns are formed in spite of mistakes in the others.
func closing(s dataset.Session) time.Time {
	end, now := s.End(), time.Now()
	for i := len(s.Turns) - 1; i >= 0 && memory.ValidTime("time", end, now) != nil; i-- {
		end = s.Turns[i].Time
	}
	return end
}

// awaitFormed waits until each session is formed, or until dead letters show that it can never be formed. It reports
// each session.
func awaitFormed(
	ctx context.Context, s *console.Session, sessions []dataset.Session, dead *deadLetters, done func(),
) error {
	for i, session := range sessions {
		err := console.Poll(ctx, FormationPoll, func() (bool, error) {
			formed, err := isFormed(ctx, s, session)
			if formed || err != nil || time.Since(dead.readAt) < deadLetterPoll {
				return formed, console.IgnoreUnavailable(ctx, err)
			}
			err = dead.read(ctx)
			return dead.isAbandoned(session), err
		})
		if ctx.Err() != nil {
			return fmt.Errorf("the memories of %d of %d sessions are not formed yet; the first is session %s of %s: %w "+
				"(`mneme replay --list` shows the dead letters)", len(sessions)-i, len(sessions),
				session.ID, session.User, ctx.Err())
		}
		if err != nil {
			return err
		}
		done()
	}
	return dead.read(ctx)
}

func isFormed(ctx context.Context, s *console.Session, session dataset.Session) (bool, error) {
	res, err := s.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: session.User,
		SessionId: session.ID}))
	if err != nil {
		return false, fmt.Errorf("get session %s: %w", session.ID, err)
	}
	return res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED, nil
}
