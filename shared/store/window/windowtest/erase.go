package windowtest

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

func wantCounts(t *testing.T, w window.Window, scope memory.Scope, want window.Counts) {
	t.Helper()
	got, err := w.Count(t.Context(), scope)
	if err != nil || got != want {
		t.Fatalf("count: got %+v, %v, want %+v", got, err, want)
	}
}

// eraseAll erases one of several users twice. No data of the user is left, and no data of the others is lost.
func (s *suite) eraseAll(t *testing.T) {
	w := s.factory(t, wide).Window
	ana := s.scope()
	others := []memory.Scope{
		{Tenant: ana.Tenant, User: ana.User + "2"}, {Tenant: "other", User: ana.User},
		{Tenant: ana.Tenant, User: ana.User + " "},
	}
	for _, scope := range append(others, ana) {
		mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute))
		mustRetire(t, w, scope, "b", "c")
		wantCounts(t, w, scope, window.Counts{Turns: 1, Retired: 2})
	}
	for range 2 {
		if err := w.Erase(t.Context(), ana); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, w, ana, window.Counts{})
		wantIDs(t, w, ana)
	}
	for _, scope := range others {
		wantCounts(t, w, scope, window.Counts{Turns: 1, Retired: 2})
		wantIDs(t, w, scope, "a")
	}
}

// eraseStartsAnew writes turns after an erasure that were kept, retired or too old before it.
func (s *suite) eraseStartsAnew(t *testing.T) {
	w := s.factory(t, window.Limits{Words: 10 * turnWords, Age: time.Hour, Idle: time.Hour}).Window
	scope := s.scope()
	mustAppend(t, w, scope, turn("new", 100*time.Hour), turn("kept", 100*time.Hour))
	mustRetire(t, w, scope, "retired")
	if err := w.Erase(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, w, scope, turn("old", 0), turn("retired", time.Minute), turn("kept", 2*time.Minute))
	wantIDs(t, w, scope, "old", "retired", "kept")
}

func (s *suite) reinstate(t *testing.T) {
	w := s.factory(t, wide).Window
	scope := s.scope()
	if err := w.Reinstate(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, w, scope, turn("a", 0), turn("b", time.Minute))
	mustKeep(t, w, scope, time.Hour, turn("kept", 2*time.Minute))
	mustRetire(t, w, scope, "a")
	wantIDs(t, w, scope, "b", "kept")
	for range 2 {
		if err := w.Reinstate(t.Context(), scope); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, w, scope, window.Counts{Turns: 1})
	}
	mustAppend(t, w, scope, turn("a", 0))
	wantIDs(t, w, scope, "a", "b")
}
