package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/fault"
)

// failingPublisher fails on one value with one error.
type failingPublisher struct {
	bus.Publisher
	value string
	err   error
	hit   func()
}

func (p *failingPublisher) Publish(ctx context.Context, msgs ...bus.Message) error {
	for _, m := range msgs {
		if string(m.Value) == p.value {
			p.hit()
			return p.err
		}
	}
	return p.Publisher.Publish(ctx, msgs...)
}

func deadLetterBroker(t *testing.T, n int) *bustest.Broker {
	t.Helper()
	broker := bustest.StartBroker(t, 1, "t", "dead")
	pub := broker.Publisher()
	for i := range n {
		value, err := proto.Marshal(&mnemev1.DeadLetter{SchemaVersion: 1, Id: fmt.Sprint(i), Topic: "t",
			Value: fmt.Append(nil, i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := pub.Publish(t.Context(), bus.Message{Topic: "dead", Key: []byte("k"), Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	return broker
}

func TestAnInterruptedReplayGoesOnWhereItStopped(t *testing.T) {
	broker := deadLetterBroker(t, 5)
	ins := instruments(t, bus.Telemetry{})
	ctx, cancel := context.WithCancel(t.Context())
	pub := &failingPublisher{Publisher: broker.Publisher(), value: "3", err: errors.New("unavailable"), hit: cancel}
	got, err := bus.Replay(ctx, bus.ReplayConfig{}, broker.Source("replay", "dead"), pub, ins)
	if !errors.Is(err, context.Canceled) || got != (bus.ReplayResult{Replayed: 3}) {
		t.Fatalf("interrupted: %+v, %v", got, err)
	}
	if next := broker.Committed("replay", bus.Partition{Topic: "dead"}); next != 3 {
		t.Errorf("committed %d after 3 acknowledged records", next)
	}
	got, err = bus.Replay(t.Context(), bus.ReplayConfig{}, broker.Source("replay", "dead"), broker.Publisher(), ins)
	if err != nil || got != (bus.ReplayResult{Replayed: 2}) {
		t.Errorf("resumed: %+v, %v", got, err)
	}
}

func TestReplayKeepsWhatATopicRefuses(t *testing.T) {
	broker := deadLetterBroker(t, 3)
	ins := instruments(t, bus.Telemetry{})
	pub := &failingPublisher{Publisher: broker.Publisher(), value: "1", err: fault.Terminal("", "too large"),
		hit: func() {}}
	got, err := bus.Replay(t.Context(), bus.ReplayConfig{}, broker.Source("replay", "dead"), pub, ins)
	if err != nil || got != (bus.ReplayResult{Replayed: 2, Refused: 1}) {
		t.Fatalf("first run: %+v, %v", got, err)
	}
	got, err = bus.Replay(t.Context(), bus.ReplayConfig{}, broker.Source("replay", "dead"), broker.Publisher(), ins)
	if err != nil || got != (bus.ReplayResult{Replayed: 1}) {
		t.Errorf("second run: %+v, %v", got, err)
	}
}
