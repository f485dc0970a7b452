package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// publishLimit limits one publication. An unavailable broker may take this long to return.
const publishLimit = time.Minute

// Events returns a session's events: its turns and its end. Event ids derive from the turns, so the same session
// gives the same events. Another salt gives other ids, like an assistant that generates new ids when it sends again.
func Events(tenant, salt string, s dataset.Session) []contract.SessionEvent {
	scope := memory.Scope{Tenant: tenant, User: s.User}
	last := ""
	events := make([]contract.SessionEvent, 0, len(s.Turns)+1)
	for _, t := range s.Turns {
		last = t.ID
		events = append(events, contract.SessionEvent{
			Envelope: contract.Envelope{EventID: memory.DeriveTurnID(scope, t.ID+salt), Scope: scope, SessionID: s.ID}, Turn: &t,
		})
	}
	return append(events, contract.SessionEvent{
		Envelope: contract.Envelope{EventID: memory.DeriveSessionID(scope, s.ID+"\n"+last+salt), Scope: scope,
			SessionID: s.ID},
		ClosedAt: s.End(),
	})
}

// Messages encodes events for the bus. An event that the contract refuses fails the test; publish its bytes with
// PublishRaw.
func Messages(tb testing.TB, events ...contract.SessionEvent) []bus.Message {
	tb.Helper()
	out, err := Encode(events...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Encode is Messages for any goroutine.
func Encode(events ...contract.SessionEvent) ([]bus.Message, error) {
	out := make([]bus.Message, len(events))
	for i, e := range events {
		value, err := e.Encode()
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		out[i] = bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value}
	}
	return out, nil
}

// Publish publishes sessions with derived event ids, each under a separate trace.
func (s *System) Publish(tb testing.TB, tenant string, sessions ...dataset.Session) {
	tb.Helper()
	for _, session := range sessions {
		s.PublishMessages(tb, Messages(tb, Events(tenant, "", session)...)...)
	}
}

// PublishMessages publishes records under one trace.
func (s *System) PublishMessages(tb testing.TB, msgs ...bus.Message) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), publishLimit)
	defer cancel()
	if err := s.TryPublish(ctx, msgs...); err != nil {
		tb.Fatalf("publish: %v", err)
	}
}

// TryPublish publishes records under one trace, until ctx ends. It may be called from any goroutine.
func (s *System) TryPublish(ctx context.Context, msgs ...bus.Message) error {
	ctx, span := s.tel.Tracer.Tracer("harness").Start(ctx, "publish session")
	defer span.End()
	return s.busClient.Publisher.Publish(ctx, msgs...)
}

// PublishRaw publishes one record as it is.
func (s *System) PublishRaw(tb testing.TB, topic string, key, value []byte) {
	tb.Helper()
	s.PublishMessages(tb, bus.Message{Topic: topic, Key: key, Value: value})
}
