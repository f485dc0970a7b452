package webhooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ines = memory.Scope{Tenant: "acme", User: "ines"}
	ben  = memory.Scope{Tenant: "acme", User: "ben"}
)

func TestOnEveryRedis(t *testing.T) { redistest.Each(t, deliveries) }

// deliveries moves deliveries through their states, and erases a user in the middle.
func deliveries(t *testing.T, addr string) {
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	s, ctx := webhooks.New(client, webhooks.Options{Timeout: time.Minute}), t.Context()
	if err := s.Create(ctx, "acme", webhooks.Endpoint{ID: "w1", URL: "https://example.com", Active: true}); err != nil {
		t.Fatal(err)
	}
	enqueue := func(scope memory.Scope, id string, kind changeevent.Type) {
		t.Helper()
		if err := s.Enqueue(ctx, "w1", changeevent.Event{Type: kind, Scope: scope, ID: id,
			Data: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	counts := func(scope memory.Scope, erasure string, want int) {
		t.Helper()
		if n, err := s.Count(ctx, scope, erasure); err != nil || n != want {
			t.Errorf("%d are kept of %s for the erasure %q, %v, want %d", n, scope.User, erasure, err, want)
		}
	}
	enqueue(ines, "c1", changeevent.MemoryAdded)
	enqueue(ines, "c1", changeevent.MemoryAdded) // it comes again
	enqueue(ines, "c2", changeevent.MemoryAdded)
	enqueue(ben, "c3", changeevent.MemoryAdded)
	taken, err := s.Take(ctx, "acme", time.Minute, 10, 10)
	if err != nil || len(taken) != 3 {
		t.Fatal(taken, err)
	}
	for _, d := range taken {
		if d.Event != "c2" {
			err = errors.Join(err, s.Settle(ctx, "acme", d.Name, webhooks.Dead, d.Delivery, 0))
		}
	}
	if letters, more, readErr := s.DeadLetters(ctx, "acme", "w1", 0, 10); len(letters) != 2 || more ||
		errors.Join(err, readErr) != nil {
		t.Fatal(letters, err, readErr)
	}
	counts(ines, "e1", 2)
	if err := s.Drop(ctx, ines, "e1"); err != nil {
		t.Fatal(err)
	}
	enqueue(ines, "e1", changeevent.UserErased)
	counts(ines, "", 0)
	counts(ben, "", 1)
	eva := memory.Scope{Tenant: "acme", User: "eva"}
	for i := range 1_100 { // several pages of a list
		enqueue(eva, fmt.Sprint("many", i), changeevent.MemoryAdded)
	}
	counts(eva, "", 1_100)
	if err := s.Drop(ctx, eva, "e2"); err != nil {
		t.Fatal(err)
	}
	counts(eva, "", 0)
	enqueue(ines, "c4", changeevent.MemoryAdded)
	if err := s.Erase(ctx, ines, "e1"); err != nil { // the workflow runs after the consumer
		t.Fatal(err)
	}
	counts(ines, "e1", 0)
	counts(ines, "", 1)
	if err := s.Replay(ctx, "acme", "w1", "c1"); !errors.Is(err, webhooks.ErrNoLetter) {
		t.Errorf("a letter of the user is replayed: %v", err)
	}
	if err := s.Replay(ctx, "acme", "w1", "c3"); err != nil {
		t.Errorf("another's is not replayed: %v", err)
	}
	e, err := s.Change(ctx, "acme", "w1", func(e *webhooks.Endpoint) error { e.Name = "mine"; return nil })
	if err != nil || e.Health.Pending != 3 { // e1, c4 and c3
		t.Errorf("the endpoint is %+v, %v", e, err)
	}
	if err := s.Delete(ctx, "acme", "w1"); err != nil {
		t.Fatal(err)
	}
	for _, d := range taken { // an attempt was running
		if err := s.Settle(ctx, "acme", d.Name, webhooks.Dead, d.Delivery, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []string{"dead:w1", "died:w1", "waiting", "due"} {
		if n, err := client.Exists(ctx, "mneme:webhook:{acme}:"+list).Result(); err != nil || n != 0 {
			t.Errorf("%s of an endpoint that was deleted is kept: %d, %v", list, n, err)
		}
	}
}
