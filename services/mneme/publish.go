package mneme

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/backends"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/telemetry"
)

const formationPoll = 50 * time.Millisecond

// publish publishes sessions as events and says after each how many turns it had. Event ids are derived
// from the turns, so publishing a file again has no effect.
func (s *session) publish(ctx context.Context, sessions []dataset.Session, done func(turns int)) error {
	if len(s.Brokers) == 0 || s.Tenant == "" {
		return usageError{errors.New("publishing needs --brokers (or " + envBrokers + ") and --tenant (or " + envTenant + ")")}
	}
	line, err := backends.Bus{Brokers: s.Brokers, Partitions: 24}.Open(ctx, "mneme-cli", s.tel)
	if err != nil {
		return fmt.Errorf("reach kafka: %w", err)
	}
	defer line.Close()
	tracer := s.tel.Tracer.Tracer(backends.Scope)
	for _, session := range sessions {
		if err := publishSession(ctx, tracer, line.Publisher, s.Tenant, session); err != nil {
			return fmt.Errorf("publish session %s of %s: %w", session.ID, session.User, err)
		}
		done(len(session.Turns))
	}
	return nil
}

// publishSession publishes one session under one trace.
func publishSession(ctx context.Context, tracer trace.Tracer, out bus.Publisher, tenant string, s dataset.Session) error {
	ctx, span := tracer.Start(ctx, "ingest session", trace.WithNewRoot(), trace.WithAttributes(
		telemetry.AttrTenant.String(tenant), telemetry.AttrSession.String(s.ID), attribute.Int(string(telemetry.AttrTurns), len(s.Turns))))
	defer span.End()
	msgs, err := messages(memory.Scope{Tenant: tenant, User: s.User}, s)
	if err != nil {
		return err
	}
	return out.Publish(ctx, msgs...)
}

// messages are a session's events: its turns and its end.
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
		// With the last turn's id, a longer version of the session closes anew.
		Envelope: contract.Envelope{EventID: memory.DeriveSessionID(scope, s.ID+"\n"+last), Scope: scope, SessionID: s.ID}, ClosedAt: s.End(),
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

// awaitFormed waits until every session's memories are formed, and says so of each in turn.
func (s *session) awaitFormed(ctx context.Context, sessions []dataset.Session, done func()) error {
	tick := time.NewTicker(formationPoll)
	defer tick.Stop()
	for i, session := range sessions {
		for {
			formed, err := s.formed(ctx, session)
			if err != nil && ctx.Err() == nil && connect.CodeOf(err) != connect.CodeUnavailable {
				return err // what is away for a moment is waited for
			}
			if formed {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the memories of %d of %d sessions are not formed yet, the first is session %s of %s: %w"+
					" (`mneme replay --list` shows what was refused)", len(sessions)-i, len(sessions), session.ID, session.User, ctx.Err())
			case <-tick.C:
			}
		}
		done()
	}
	return nil
}

func (s *session) formed(ctx context.Context, session dataset.Session) (bool, error) {
	res, err := s.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: session.User, SessionId: session.ID}))
	if err != nil {
		return false, fmt.Errorf("ask for session %s: %w", session.ID, err)
	}
	return res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED, nil
}
