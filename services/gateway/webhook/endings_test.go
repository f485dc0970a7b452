package webhook_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

func TestAnEndpointWhoseAddressIsRefusedByNowIsSwitchedOff(t *testing.T) {
	w := open(t, webhook.Options{})
	e, err := w.replica(webhook.Options{Private: true}).Create(by("acme"), webhook.Endpoint{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(by("acme"), e.ID, webhook.Change{URL: &e.URL}); problem.From(err).Field != "url" {
		t.Errorf("its address given anew: %v", err)
	}
	if e, err := w.Update(by("acme"), e.ID, webhook.Change{Active: new(false)}); err != nil || e.Active {
		t.Errorf("switched off: %v, %v", e.Active, err)
	}
}

func TestReplicasDeliverOnce(t *testing.T) {
	w, r := open(t, here), receive(t, 200)
	w.create("acme", webhook.Endpoint{URL: r.URL})
	w.run(w.Webhooks)
	w.run(w.replica(here))
	var want []string
	for i := range 50 {
		id := "e" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		want = append(want, id)
		w.handle(change(t, "acme", "ines", id, memory.OpAdd))
	}
	eventually(t, "all", func() bool { return len(r.all()) >= len(want) })
	ids := r.ids()
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("told of %v", ids)
	}
}

func TestWhatAReplicaTookBeforeItDiedIsDelivered(t *testing.T) {
	w := open(t, webhook.Options{Private: true, Attempt: 300 * time.Millisecond})
	r := receive(t, 200)
	w.create("acme", webhook.Endpoint{URL: r.URL})
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	// Another replica takes it, and is never heard of again.
	if _, err := w.redis.ZAdd("mneme:webhook:{acme}:due", float64(time.Now().Add(300*time.Millisecond).UnixMilli()),
		first(t, w)); err != nil {
		t.Fatal(err)
	}
	w.run(w.Webhooks)
	eventually(t, "it is delivered", func() bool { return slices.Equal(r.ids(), []string{"e1"}) })
}

func first(t *testing.T, w *world) string {
	t.Helper()
	names, err := w.redis.HKeys("mneme:webhook:{acme}:waiting")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	return names[0]
}

func TestAUserIsForgotten(t *testing.T) {
	w, r := open(t, webhook.Options{Private: true, Backoff: []time.Duration{}}), receive(t, 500)
	e := w.create("acme", webhook.Endpoint{URL: r.URL})
	w.run(w.Webhooks)
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd), change(t, "acme", "ben", "e2", memory.OpAdd))
	dead := func() (ids []string) {
		all, _, err := w.Dead(by("acme"), e.ID, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			ids = append(ids, d.Event)
		}
		return ids
	}
	eventually(t, "dead letters", func() bool { return len(dead()) == 2 })
	kept := func(want int) {
		t.Helper()
		if n, err := w.kept.Count(t.Context(), memory.Scope{Tenant: "acme", User: "ines"}, ""); err != nil || n != want {
			t.Errorf("kept: %d, %v, want %d", n, err, want)
		}
	}
	kept(1)
	w.handle(change(t, "acme", "ines", "e3", memory.OpErase))
	eventually(t, "the erasure is announced, and given up on", func() bool { return len(dead()) == 2 })
	if got := dead(); !slices.Contains(got, "e2") || !slices.Contains(got, "e3") {
		t.Errorf("left: %v", got)
	}
	kept(0)
}

func TestWhatWaitsOfAUserIsForgotten(t *testing.T) {
	w := open(t, here)
	e := w.create("acme", webhook.Endpoint{URL: "http://127.0.0.1:1"})
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd), change(t, "acme", "ben", "e2", memory.OpAdd))
	if err := w.kept.Erase(t.Context(), memory.Scope{Tenant: "acme", User: "ines"}, "x1"); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Get(by("acme"), e.ID); err != nil || e.Health.Pending != 1 || first(t, w) != e.ID+"/e2" {
		t.Errorf("%d wait, %v", e.Health.Pending, err)
	}
}

func TestADeletedEndpointIsToldNothing(t *testing.T) {
	w, r := open(t, here), receive(t, 200)
	e := w.create("acme", webhook.Endpoint{URL: r.URL})
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	if err := w.Delete(by("globex"), e.ID); problem.From(err).Status != http.StatusNotFound {
		t.Errorf("another tenant: %v", err)
	}
	if err := w.Delete(by("acme"), e.ID); err != nil {
		t.Fatal(err)
	}
	w.run(w.Webhooks)
	eventually(t, "nothing waits", func() bool {
		names, err := w.redis.HKeys("mneme:webhook:{acme}:waiting")
		return err != nil || len(names) == 0
	})
	if len(r.all()) > 0 {
		t.Error("it was told")
	}
}

func TestRedisAway(t *testing.T) {
	w := open(t, here)
	w.redis.SetError("LOADING")
	if err := w.Handle(t.Context(), []bus.Message{change(t, "acme", "ines", "e1", memory.OpAdd)}); err == nil ||
		fault.IsTerminal(err) {
		t.Errorf("handle: %v, want an error to try again after", err)
	}
	if _, err := w.List(by("acme")); problem.From(err).Status != http.StatusServiceUnavailable {
		t.Errorf("list: %v", err)
	}
	w.redis.SetError("")
	if err := w.Handle(t.Context(), []bus.Message{{Key: []byte("acme/ines"),
		Value: []byte("x")}}); !fault.IsTerminal(err) {
		t.Errorf("a record that is no change: %v", err)
	}
}

// hookOfMem0 is a webhook as mem0's API shows it.
type hookOfMem0 struct {
	ID           string   `json:"webhook_id"`
	Name         string   `json:"name"`
	URL          string   `json:"url"`
	Events       []string `json:"event_types"`
	Active       bool     `json:"is_active"`
	Secret       string   `json:"secret"`
	Failures     int      `json:"consecutive_failures"`
	FailingSince string   `json:"failing_since"`
}

// asMem0 makes a call of mem0's API about the webhooks, and decodes its answer.
func (w *world) asMem0(method, path, body string, out any) {
	w.t.Helper()
	api := mem0.New(mem0.Parts{Webhooks: w.Webhooks, Now: time.Now})
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, httptest.NewRequestWithContext(by("acme"), method, "/api/v1/webhooks/"+path,
		strings.NewReader(body)))
	if err := json.Unmarshal(answer.Body.Bytes(), out); err != nil || answer.Code/100 != 2 {
		w.t.Fatal(answer.Code, answer.Body, err)
	}
}

func TestForMem0(t *testing.T) {
	w := open(t, here)
	var made, changed hookOfMem0
	w.asMem0("POST", "projects/acme/", `{"name":"mine","url":"https://example.com","event_types":["memory_update"]}`, &made)
	if made.Secret == "" || !slices.Equal(made.Events, []string{"memory_update"}) || !made.Active {
		t.Fatal(made)
	}
	w.asMem0("PUT", made.ID+"/", `{"name":"yours","event_types":["memory_add"]}`, &changed)
	if changed.Name != "yours" || changed.URL != made.URL || !slices.Equal(changed.Events, []string{"memory_add"}) {
		t.Error(changed)
	}
	var all []hookOfMem0
	if w.asMem0("GET", "projects/acme/", "", &all); len(all) != 1 || all[0].Secret != "" {
		t.Error(all)
	}
	w.asMem0("DELETE", made.ID+"/", "", &struct{}{})
}

// An erasure drops the user's waiting deliveries, in the order of the user's changes. Later deliveries stay, also
// after a batch of changes is handled again.
func TestAnErasureDropsWhatWaitsInOrder(t *testing.T) {
	w := open(t, here)
	e := w.create("acme", webhook.Endpoint{URL: "http://127.0.0.1:1"})
	stretch := []bus.Message{
		change(t, "acme", "ines", "e1", memory.OpAdd), change(t, "acme", "ines", "e2", memory.OpErase),
		change(t, "acme", "ines", "e3", memory.OpAdd), change(t, "acme", "ben", "e4", memory.OpAdd),
	}
	for range 2 {
		w.handle(stretch...)
		names, err := w.redis.HKeys("mneme:webhook:{acme}:waiting")
		if want := []string{e.ID + "/e2", e.ID + "/e3", e.ID + "/e4"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%v wait, %v, want %v", names, err, want)
		}
	}
	if e, err := w.Get(by("acme"), e.ID); err != nil || e.Health.Pending != 3 {
		t.Errorf("%d are said to wait, %v", e.Health.Pending, err)
	}
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	of, err1 := w.kept.Count(t.Context(), ines, "e2")
	all, err2 := w.kept.Count(t.Context(), ines, "")
	if of != 0 || all != 1 || err1 != nil || err2 != nil {
		t.Errorf("%d are left of the erasure, %d in all, %v, %v", of, all, err1, err2)
	}
}

// An attempt that runs during the user's erasure restores nothing. A replay that has read the dead letter restores
// nothing either.
func TestAnAttemptUnderWayBringsNothingBack(t *testing.T) {
	w := open(t, here)
	w.create("acme", webhook.Endpoint{URL: "http://127.0.0.1:1"})
	w.handle(change(t, "acme", "ines", "e1", memory.OpAdd))
	taken, err := w.kept.Take(t.Context(), "acme", time.Minute, 10, 10)
	if err != nil || len(taken) != 1 {
		t.Fatal(taken, err)
	}
	w.handle(change(t, "acme", "ines", "e2", memory.OpErase))
	for _, becomes := range []webhooks.Outcome{webhooks.Again, webhooks.Dead} {
		if err := w.kept.Settle(t.Context(), "acme", taken[0].Name, becomes, taken[0].Delivery, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.kept.Count(t.Context(), memory.Scope{Tenant: "acme", User: "ines"}, ""); err != nil || n != 0 {
		t.Errorf("%d are kept, %v", n, err)
	}
	if err := w.kept.Replay(t.Context(), "acme", taken[0].Endpoint, "e1"); !errors.Is(err, webhooks.ErrNoLetter) {
		t.Errorf("a replay: %v", err)
	}
}
