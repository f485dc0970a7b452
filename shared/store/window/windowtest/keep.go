package windowtest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// tight has words for two turns.
var tight = window.Limits{Words: 2 * turnWords, Age: 10 * time.Hour, Idle: time.Hour}

func (s *suite) keepBesideBudget(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute))
	mustKeep(t, w, scope, time.Hour, turn("k", 2*time.Minute))
	wantIDs(t, w, scope, "a", "b", "k")
	mustAppend(t, w, scope, turn("c", 3*time.Minute))
	wantIDs(t, w, scope, "b", "k", "c")
	mustKeep(t, w, scope, time.Hour)
	wantIDs(t, w, scope, "b", "k", "c")
}

// keepHolds keeps a turn that is in the window: it is no longer dropped, and its words are free for others.
func (s *suite) keepHolds(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute))
	mustKeep(t, w, scope, time.Hour, turn("a", 0))
	mustAppend(t, w, scope, turn("c", 2*time.Minute))
	wantIDs(t, w, scope, "a", "b", "c")
	mustAppend(t, w, scope, turn("d", 3*time.Minute), turn("a", 0))
	wantIDs(t, w, scope, "a", "c", "d")
	wantCounts(t, w, scope, window.Counts{Turns: 3})
}

func (s *suite) keepBudget(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0))
	mustKeep(t, w, scope, time.Hour, turn("k1", time.Minute), turn("k2", 2*time.Minute), turn("k3", 3*time.Minute))
	wantIDs(t, w, scope, "a", "k2", "k3")
	long := turn("long", 4*time.Minute)
	long.Text = strings.Repeat("word ", 100)
	mustKeep(t, w, scope, time.Hour, long)
	wantIDs(t, w, scope, "a", "long")
}

// keepEnds reads the window at times around the end, and then adds a turn after the end.
func (s *suite) keepEnds(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0))
	mustKeep(t, w, scope, time.Hour, turn("k", time.Minute))
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{
		{0, []string{"a", "k"}}, {time.Hour, []string{"a", "k"}}, {time.Hour + time.Millisecond, []string{"a"}},
		{100 * time.Hour, []string{"a"}},
	} {
		if got := ids(recentAt(t, w, scope, base.Add(c.at))); !reflect.DeepEqual(got, c.want) {
			t.Errorf("after %s the window is %v, want %v", c.at, got, c.want)
		}
	}
	wantIDs(t, w, scope, "a", "k")
	mustAppend(t, w, scope, turn("b", time.Hour))
	wantIDs(t, w, scope, "a", "k", "b")
	mustAppend(t, w, scope, turn("c", time.Hour+time.Millisecond))
	wantIDs(t, w, scope, "b", "c")
	wantCounts(t, w, scope, window.Counts{Turns: 2})
}

func (s *suite) keepLonger(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	stays := func(until time.Duration) {
		t.Helper()
		before, after := recentAt(t, w, scope, base.Add(until)), recentAt(t, w, scope, base.Add(until+time.Millisecond))
		if want := []memory.Turn{turn("k", 0)}; !reflect.DeepEqual(before, want) || len(after) != 0 {
			t.Errorf("at %s the window is %+v, and then %+v, want %+v and nothing", until, before, after, want)
		}
	}
	mustKeep(t, w, scope, 2*time.Hour, turn("k", 0))
	stays(2 * time.Hour)
	mustKeep(t, w, scope, time.Hour, turn("k", 0))
	stays(2 * time.Hour)
	mustKeep(t, w, scope, 3*time.Hour, turn("k", 0))
	stays(3 * time.Hour)
	mustAppend(t, w, scope, turn("k", 0)) // as in a repeated delivery
	stays(3 * time.Hour)
}

func (s *suite) keepAge(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	mustKeep(t, w, scope, 100*time.Hour, turn("k", 0))
	mustAppend(t, w, scope, turn("a", tight.Age))
	wantIDs(t, w, scope, "k", "a")
	mustAppend(t, w, scope, turn("b", tight.Age+time.Millisecond))
	wantIDs(t, w, scope, "a", "b")
}

func (s *suite) keepRetired(t *testing.T) {
	w, scope := s.factory(t, tight).Window, s.scope()
	mustKeep(t, w, scope, time.Hour, turn("k", 0), turn("a", 0))
	mustRetire(t, w, scope, "k")
	wantIDs(t, w, scope, "a")
	mustKeep(t, w, scope, time.Hour, turn("k", 0))
	wantIDs(t, w, scope, "a")
}

func (s *suite) keepRoundTrip(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	full := memory.Turn{
		ID: "t:1{x}\n", SessionID: "s 1", Speaker: "Zoë", Role: memory.RoleAssistant,
		Text: `"words":9,"until":1, quotes " and %d` + "\n日本語", Caption: "a photo",
		Time: base.Add(123456789 * time.Nanosecond),
	}
	mustAppend(t, w, scope, full)
	for _, until := range []time.Duration{time.Hour, 2 * time.Hour} {
		mustKeep(t, w, scope, until, full, full)
		if got := recent(t, w, scope); !reflect.DeepEqual(got, []memory.Turn{full}) {
			t.Fatalf("got %+v, want %+v once", got, full)
		}
	}
}

func (s *suite) keepRefused(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	for field, bad := range map[string]window.Kept{"turn.id": {Until: base}, "kept.until": {Turn: turn("b", 0)}} {
		err := w.Keep(t.Context(), scope, []window.Kept{{Turn: turn("a", 0), Until: base.Add(time.Hour)}, bad})
		if !fault.IsTerminal(err) || fault.Field(err) != field {
			t.Errorf("got %v, want a terminal error about %s", err, field)
		}
	}
	wantIDs(t, w, scope)
}
