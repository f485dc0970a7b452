package mem0_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// run closes idle sessions with so many replicas until the returned function is called.
func (g *gateway) run(replicas int) (stop func()) {
	ctx, cancel := context.WithCancel(g.t.Context())
	done := make(chan error, replicas)
	for range replicas {
		log := slog.New(slog.NewTextHandler(g.log, nil))
		s := mem0.NewState(g.store, g.ingest, mem0.Options{Poll: time.Millisecond, Now: g.clock.Now, Log: log})
		go func() { done <- s.Run(ctx) }()
	}
	return func() {
		cancel()
		for range replicas {
			if err := <-done; err != nil {
				g.t.Error(err)
			}
		}
	}
}

func (g *gateway) closings() []contract.SessionEvent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func TestIdleSessionsAreClosed(t *testing.T) {
	g := open(t)
	first := g.add(object{"messages": says("I live in Porto.", "I like tea."), "user_id": "ines"})
	stop := g.run(3)
	g.redis.SetTime(start.Add(19 * time.Second))
	second := g.add(object{"messages": says("x"), "user_id": "ines", "run_id": "r1"})
	third := g.add(object{"messages": says("y"), "user_id": "ines"})
	until(t, "nothing is closed before its time", func() bool { return g.redis.CommandCount() > 200 })
	if got := g.closings(); len(got) != 0 {
		t.Fatalf("closed %v too early, with %s going on", got, first)
	}
	g.redis.SetTime(start.Add(40 * time.Second))
	until(t, "both sessions are closed", func() bool { return len(g.closings()) == 2 })
	for _, id := range []string{first, second, third} {
		until(t, "an event is done", func() bool { return g.do("GET", "/v1/event/"+id+"/", nil).object()["status"] == "SUCCEEDED" })
	}
	g.add(object{"messages": says("z"), "user_id": "ines"})
	g.redis.SetTime(start.Add(80 * time.Second))
	until(t, "the session that went on is closed again", func() bool { return len(g.closings()) == 3 })
	before := g.redis.CommandCount()
	until(t, "idle ones are looked for a while longer", func() bool { return g.redis.CommandCount() > before+100 })
	stop()
	ids := map[string]bool{}
	for _, e := range g.closings() {
		if e.Scope != (memory.Scope{Tenant: "acme", User: "ines"}) || ids[e.EventID] {
			t.Errorf("closed %+v", e)
		}
		ids[e.EventID] = true
	}
	if len(ids) != 3 {
		t.Errorf("%d closings", len(ids))
	}
	for _, k := range g.redis.Keys() {
		if strings.HasSuffix(k, ":idle") || strings.HasSuffix(k, ":last") {
			t.Errorf("%s is left", k)
		}
	}
}

func TestClosingIsTriedAgain(t *testing.T) {
	g := open(t)
	g.add(object{"messages": says("x"), "user_id": "ines"})
	g.mu.Lock()
	g.refusing = errors.New("kafka is away")
	g.mu.Unlock()
	g.redis.SetTime(start.Add(30 * time.Second))
	stop := g.run(2)
	defer stop()
	until(t, "closing fails", func() bool { return strings.Contains(g.log.String(), "kafka is away") })
	g.mu.Lock()
	g.refusing = nil
	g.mu.Unlock()
	g.redis.SetTime(start.Add(90 * time.Second))
	until(t, "the session is closed", func() bool { return len(g.closings()) == 1 })
}

func TestClosingOutlivesRedis(t *testing.T) {
	g := open(t)
	g.add(object{"messages": says("x"), "user_id": "ines"})
	g.redis.SetTime(start.Add(30 * time.Second))
	g.redis.SetError("LOADING")
	stop := g.run(1)
	defer stop()
	until(t, "it is logged", func() bool { return strings.Contains(g.log.String(), "LOADING") })
	g.redis.SetError("")
	until(t, "the session is closed", func() bool { return len(g.closings()) == 1 })
}

func TestForgottenSessionsAreNotClosed(t *testing.T) {
	g := open(t)
	g.add(object{"messages": says("x"), "user_id": "ines"})
	g.add(object{"messages": says("x"), "user_id": "ben"})
	if err := g.state.Erase(t.Context(), memory.Scope{Tenant: "acme", User: "ines"}, ""); err != nil {
		t.Fatal(err)
	}
	g.redis.SetTime(start.Add(30 * time.Second))
	defer g.run(1)()
	until(t, "the session of ben is closed", func() bool { return len(g.closings()) == 1 && g.closings()[0].Scope.User == "ben" })
}

// TestOnKafka has a real client of the bus put turns and ends of sessions in, with acknowledgement.
func TestOnKafka(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicSessionEvents)
	g := open(t)
	g.ingest.Out = broker.Publisher()
	event := g.add(object{"messages": says("I live in Porto.", "I like tea."), "user_id": "ines", "run_id": "r1"})
	g.redis.SetTime(start.Add(30 * time.Second))
	defer g.run(2)()
	var got []string
	log := broker.Log(contract.TopicSessionEvents)
	until(t, "three events are on the topic", func() bool {
		got = nil
		err := bus.ScanLog(t.Context(), log, func(m bus.Message) {
			e, err := contract.DecodeSessionEvent(m.Key, m.Value, g.clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			what := "closed"
			if e.Turn != nil {
				what = e.Turn.ID
			}
			got = append(got, e.SessionID+" "+what)
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(got) == 3
	})
	if want := []string{"r1 " + event + "-0", "r1 " + event + "-1", "r1 closed"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events are %v, want %v", got, want)
	}
}
