package windowtest

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

func (s *suite) emptyUser(t *testing.T) {
	wantIDs(t, s.factory(t, wide).Window, s.scope())
}

func (s *suite) roundTrip(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	full := memory.Turn{
		ID: "t:1{x}\n", SessionID: "s 1", Speaker: "Zoë", Role: memory.RoleAssistant,
		Text: "quotes \" and \\, <tags>, 日本語, \u2028 and a tab\t", Caption: "a photo of a dog",
		Time: time.Date(2023, 5, 8, 15, 56, 1, 123456789, time.FixedZone("", 2*3600)),
		Attributes: memory.Attributes{
			Metadata: map[string]any{"n": -0.5, "list": []any{"<a>", true}, "in": map[string]any{"x": "y"}}, AgentID: "a1",
			AppID: "b", RunID: "c",
		},
	}
	mustAppend(t, w, scope, full)
	want := full
	want.Time = full.Time.UTC()
	if got := recent(t, w, scope); !reflect.DeepEqual(got, []memory.Turn{want}) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func (s *suite) outOfOrder(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	mustAppend(t, w, scope, turn("c", 2*time.Minute), turn("b", time.Minute))
	mustAppend(t, w, scope, turn("b2", time.Minute), turn("a", 3*time.Minute))
	mustAppend(t, w, scope, turn("z", time.Minute+time.Nanosecond), turn("B", time.Minute))
	wantIDs(t, w, scope, "B", "b", "b2", "z", "c", "a")
}

func (s *suite) nothingToDo(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	mustAppend(t, w, scope)
	mustRetire(t, w, scope)
	wantIDs(t, w, scope)
}

func (s *suite) emptyID(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	err := w.Append(t.Context(), scope, []memory.Turn{turn("a", 0), turn("", 0)})
	if !fault.IsTerminal(err) || fault.Field(err) != "turn.id" {
		t.Fatalf("got %v, want a terminal error about turn.id", err)
	}
	wantIDs(t, w, scope)
}

func (s *suite) wordLimit(t *testing.T) {
	limits := window.Limits{Words: 4*turnWords - 1, Age: time.Hour, Idle: time.Hour}
	w, scope := s.factory(t, limits).Window, s.scope()
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		mustAppend(t, w, scope, turn(id, time.Duration(i)*time.Minute))
	}
	wantIDs(t, w, scope, "c", "d", "e")
	long := turn("long", time.Hour)
	long.Text = strings.Repeat("word ", turnWords+1)
	mustAppend(t, w, scope, long)
	wantIDs(t, w, scope, "d", "e", "long")
}

func (s *suite) wordLimitLate(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 2 * turnWords, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	mustAppend(t, w, scope, turn("c", 3*time.Minute), turn("d", 4*time.Minute))
	mustAppend(t, w, scope, turn("a", time.Minute))
	wantIDs(t, w, scope, "c", "d")
	mustAppend(t, w, scope, turn("c2", 3*time.Minute))
	wantIDs(t, w, scope, "c2", "d")
}

func (s *suite) longestTurn(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 2 * turnWords, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	long := turn("long", time.Minute)
	long.Text = strings.Repeat("word ", 100)
	mustAppend(t, w, scope, turn("a", 0), long)
	wantIDs(t, w, scope, "long")
	// A shorter turn does not make room for it again.
	mustAppend(t, w, scope, turn("b", 2*time.Minute))
	wantIDs(t, w, scope, "b")
}

func (s *suite) withoutSpaces(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 100, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	var all []memory.Turn
	for i := range 20 {
		one := turn(strconv.Itoa(10+i), time.Duration(i)*time.Minute)
		one.Text = strings.Repeat("日", 10*window.BytesPerWord/len("日"))
		all = append(all, one)
	}
	mustAppend(t, w, scope, all...)
	wantIDs(t, w, scope, ids(all[10:])...)
}

func (s *suite) captionCounts(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 2*turnWords + 1, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	shown := turn("b", time.Minute)
	shown.Caption = "a dog"
	mustAppend(t, w, scope, turn("a", 0), shown)
	wantIDs(t, w, scope, "b")
}

func (s *suite) ageLimit(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 1000, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Millisecond))
	mustAppend(t, w, scope, turn("c", time.Hour+time.Millisecond))
	wantIDs(t, w, scope, "b", "c")
	mustAppend(t, w, scope, turn("old", 0))
	wantIDs(t, w, scope, "b", "c")
}

func (s *suite) ageAfterRetire(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 1000, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	mustAppend(t, w, scope, turn("new", 5*time.Hour))
	mustRetire(t, w, scope, "new")
	mustAppend(t, w, scope, turn("old", 0), turn("young", 4*time.Hour))
	wantIDs(t, w, scope, "young")
}

func (s *suite) largeBatch(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 50 * turnWords, Age: 100 * time.Minute, Idle: time.Hour}).Window,
		s.scope()
	batch := make([]memory.Turn, 5000)
	for i := range batch {
		batch[i] = turn(strconv.Itoa(10000+i), time.Duration(i)*time.Minute)
	}
	mustAppend(t, w, scope, batch...)
	wantIDs(t, w, scope, ids(batch[len(batch)-50:])...)
}

func (s *suite) sameTurnTwice(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	first := turn("a", 0)
	mustAppend(t, w, scope, first, turn("b", time.Minute))
	changed := first
	changed.Text, changed.Time = "another text", first.Time.Add(time.Hour)
	mustAppend(t, w, scope, changed)
	if got := recent(t, w, scope); len(got) != 2 || !reflect.DeepEqual(got[0], first) {
		t.Fatalf("got %+v, want the first delivery to stand", got)
	}
}

func (s *suite) sameIDInBatch(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0), turn("a", time.Minute))
	if got := recent(t, w, scope); !reflect.DeepEqual(got, []memory.Turn{turn("a", 0)}) {
		t.Fatalf("got %+v, want the first of the batch alone", got)
	}
}

func (s *suite) retireKeepsAway(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute), turn("c", time.Hour))
	mustRetire(t, w, scope, "a", "c")
	wantIDs(t, w, scope, "b")
	mustAppend(t, w, scope, turn("a", 0), turn("c", time.Hour), turn("d", 2*time.Hour))
	wantIDs(t, w, scope, "b", "d")
	mustRetire(t, w, scope, "a", "b")
	wantIDs(t, w, scope, "d")
}

func (s *suite) retireUnknown(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	mustRetire(t, w, scope, "a")
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute))
	wantIDs(t, w, scope, "b")
}

func (s *suite) retireFallen(t *testing.T) {
	w, scope := s.factory(t, window.Limits{Words: 2 * turnWords, Age: time.Hour, Idle: time.Hour}).Window, s.scope()
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute), turn("c", 2*time.Minute))
	mustRetire(t, w, scope, "a", "b")
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute))
	wantIDs(t, w, scope, "c")
}
