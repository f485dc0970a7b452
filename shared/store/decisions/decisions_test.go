package decisions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/decisions"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ines = memory.Scope{Tenant: "acme", User: "ines"}

// model rates turns by their length, and records its inputs.
type model struct {
	asked, read [][]string
	err         error
	short       bool
}

func texts(turns []memory.Turn) []string {
	out := []string{}
	for _, t := range turns {
		out = append(out, t.SessionID+": "+t.Text)
	}
	return out
}

func (m *model) Filter(
	_ context.Context, _ memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	m.asked, m.read = append(m.asked, texts(turns)), append(m.read, texts(before))
	if m.err != nil {
		return nil, m.err
	}
	var out []memory.SaliencyDecision
	for _, t := range turns {
		score := float64(min(len(t.Text), 100)) / 100
		out = append(out, memory.SaliencyDecision{Salient: score >= 0.1, Score: score, Threshold: 0.1,
			PolicyVersion: "model-1"})
	}
	if m.short {
		out = out[1:]
	}
	return out, nil
}

// replica is a filter over a Redis in one process.
type replica struct {
	formation.Filter
	*decisions.Store
	*model
}

func join(t *testing.T, addr string, now func() time.Time) *replica {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	r := &replica{model: &model{}, Store: decisions.New(client, decisions.Options{Now: now, Timeout: 30 * time.Second})}
	r.Filter = r.Of(r.model)
	return r
}

func said(session string, words ...string) []memory.Turn {
	out := make([]memory.Turn, len(words))
	for i, w := range words {
		out[i] = memory.Turn{
			ID: session + "/" + w, SessionID: session, Speaker: "Ines", Role: memory.RoleUser, Text: w,
			Time: time.Unix(int64(i), 0),
		}
	}
	return out
}

func (r *replica) decide(t *testing.T, scope memory.Scope, turns []memory.Turn) []memory.SaliencyDecision {
	t.Helper()
	out, err := r.Filter.Filter(t.Context(), scope, turns, nil)
	if err != nil || len(out) != len(turns) {
		t.Fatalf("%d decisions on %d turns, %v", len(out), len(turns), err)
	}
	return out
}

func TestOnEveryRedis(t *testing.T) { redistest.Each(t, conformance) }

// conformance tests all uses of a Redis.
func conformance(t *testing.T, addr string) {
	t.Helper()
	first := join(t, addr, nil)
	turns := said("s1", "I moved to Lisbon", "ok", "my dog is called Rex")
	want := first.decide(t, ines, turns[:2])
	restarted := join(t, addr, nil)
	got := restarted.decide(t, ines, turns)
	if !slices.Equal(got[:2], want) || got[2].Score != 0.2 ||
		!slices.Equal(restarted.asked[0], []string{"s1: my dog is called Rex"}) {
		t.Errorf("got %+v, want %+v; asked %q", got, want, restarted.asked)
	}
	if again := restarted.decide(t, ines, turns); !slices.Equal(again, got) || len(restarted.asked) != 1 {
		t.Errorf("the same again gives %+v, and is asked %q", again, restarted.asked)
	}
	if read := restarted.read[0]; !slices.Equal(read, []string{"s1: I moved to Lisbon", "s1: ok"}) {
		t.Errorf("read with %q", read)
	}
	for name, other := range map[string]struct {
		scope memory.Scope
		turn  memory.Turn
	}{
		"another text under the id": {ines, memory.Turn{ID: turns[0].ID, SessionID: "s1", Text: "I moved to Faro",
			Role: memory.RoleUser}},
		"another user":   {memory.Scope{Tenant: "acme", User: "ben"}, turns[0]},
		"another tenant": {memory.Scope{Tenant: "globex", User: "ines"}, turns[0]},
	} {
		r := join(t, addr, nil)
		if r.decide(t, other.scope, []memory.Turn{other.turn}); len(r.asked) != 1 {
			t.Errorf("%s is not asked about", name)
		}
		if read := strings.Join(r.read[0], " "); other.scope != ines && read != "" {
			t.Errorf("%s is read with %q", name, read)
		}
	}
	if n, err := first.Count(t.Context(), ines, ""); err != nil || n != 5 { // four decisions, and a session
		t.Errorf("counted %d, %v", n, err)
	}
	if err := errors.Join(first.Erase(t.Context(), ines, ""), first.Erase(t.Context(), ines, "")); err != nil {
		t.Error(err)
	}
	if n, err := first.Count(t.Context(), ines, ""); err != nil || n != 0 {
		t.Errorf("counted %d, %v", n, err)
	}
	forgotten := join(t, addr, nil)
	if forgotten.decide(t, ines, turns[1:2]); len(forgotten.asked) != 1 || len(forgotten.read[0]) != 0 {
		t.Errorf("after an erasure asked %q, read with %q", forgotten.asked, forgotten.read)
	}
}

func TestSessionsAreApartAndShort(t *testing.T) {
	r := join(t, miniredis.RunT(t).Addr(), nil)
	for i := range 9 {
		r.decide(t, ines, said("s1", fmt.Sprint("turn ", i)))
	}
	r.decide(t, ines, slices.Concat(said("s1", "last"), said("s2", "other", strings.Repeat("ü", 2000))))
	want := []string{"s1: turn 3", "s1: turn 4", "s1: turn 5", "s1: turn 6", "s1: turn 7", "s1: turn 8"}
	if got := r.read[9]; !slices.Equal(got, want) {
		t.Errorf("read with %q", got)
	}
	r.decide(t, ines, said("s2", "more"))
	read := r.read[10]
	if len(read) != 2 || read[0] != "s2: other" || len(read[1]) > 1100 || !strings.HasSuffix(read[1], "ü ...") {
		t.Errorf("read with %.40q", read)
	}
	for i := range 60 { // with so many sessions, nothing is kept for ever
		r.decide(t, ines, said(fmt.Sprint("many", i), "x"))
	}
	r.decide(t, ines, said("s2", "and more"))
	if read := r.read[len(r.read)-1]; len(read) != 0 {
		t.Errorf("read with %q", read)
	}
}

func TestHowLongThingsAreKept(t *testing.T) {
	server := miniredis.RunT(t)
	var mu sync.Mutex
	now := time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) {
		mu.Lock()
		now = now.Add(d)
		mu.Unlock()
		server.FastForward(d)
	}
	r := join(t, server.Addr(), clock)
	asked := func(turns []memory.Turn) bool {
		n := len(r.asked)
		r.decide(t, ines, turns)
		return len(r.asked) > n
	}
	turns := said("s1", "I moved to Lisbon")
	if !asked(turns) || asked(turns) {
		t.Error("it is not kept")
	}
	pass(7 * 24 * time.Hour)
	if asked(turns) {
		t.Error("it is not kept for seven days")
	}
	if asked(said("s1", "ok")); len(r.read[len(r.read)-1]) != 0 {
		t.Error("recent turns are kept for days")
	}
	pass(25 * time.Hour)
	if !asked(turns) {
		t.Error("it is kept for more than eight days")
	}
	pass(10 * 24 * time.Hour)
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}

func TestNothingIsKeptOfWhatFails(t *testing.T) {
	server := miniredis.RunT(t)
	r := join(t, server.Addr(), nil)
	turns := said("s1", "I moved to Lisbon", "ok")
	r.err = errors.New("the model is away")
	if _, err := r.Filter.Filter(t.Context(), ines, turns, nil); !errors.Is(err, r.err) {
		t.Errorf("got %v", err)
	}
	r.err, r.short = nil, true
	if _, err := r.Filter.Filter(t.Context(), ines, turns, nil); err == nil {
		t.Error("too few decisions are taken")
	}
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("kept: %q", keys)
	}
	r.short = false
	r.decide(t, ines, turns)
	if strings.Contains(fmt.Sprint(server.Keys()), "ines") {
		t.Errorf("keys name the user: %q", server.Keys())
	}
	server.Close() // without the stored decisions, no decision is made
	n := len(r.asked)
	if _, err := r.Filter.Filter(t.Context(), ines, turns, nil); err == nil || len(r.asked) != n {
		t.Errorf("without Redis: %v, asked %d times", err, len(r.asked)-n)
	}
}

func TestNoTurnsAskNothing(t *testing.T) {
	r := join(t, miniredis.RunT(t).Addr(), nil)
	if out := r.decide(t, ines, nil); len(out) != 0 || len(r.asked) != 0 {
		t.Errorf("got %v, asked %q", out, r.asked)
	}
}
