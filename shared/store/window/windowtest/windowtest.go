// Package windowtest is the conformance suite of the window port. Every store passes it.
package windowtest

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// Backend is a window under test.
type Backend struct {
	// Window is new and empty, or shared with windows of other tests: the suite never uses a scope twice.
	Window window.Window
	// Advance advances the store's clock by d. Nil means that the store uses the real clock, and the suite waits.
	Advance func(d time.Duration)
}

// Factory returns a window with limits. Its cleanup runs with t.
type Factory func(t *testing.T, l window.Limits) Backend

// Run runs the whole suite.
func Run(t *testing.T, factory Factory) {
	s := &suite{factory: factory, run: runs.Add(1)}
	t.Run("order", func(t *testing.T) {
		t.Run("empty user", s.emptyUser)
		t.Run("turns come back as they were", s.roundTrip)
		t.Run("out of order arrivals are sorted by time then id", s.outOfOrder)
		t.Run("nothing to do is no error", s.nothingToDo)
		t.Run("a turn without id is terminal and leaves the window alone", s.emptyID)
	})
	t.Run("limits", func(t *testing.T) {
		t.Run("words drop the oldest", s.wordLimit)
		t.Run("words drop late arrivals that are older", s.wordLimitLate)
		t.Run("the newest turn stays whatever its length", s.longestTurn)
		t.Run("what parts no words counts by its length", s.withoutSpaces)
		t.Run("a caption counts", s.captionCounts)
		t.Run("age is relative to the newest turn", s.ageLimit)
		t.Run("age stays relative to a retired newest turn", s.ageAfterRetire)
		t.Run("one batch larger than the limits", s.largeBatch)
	})
	t.Run("idempotence", func(t *testing.T) {
		t.Run("same turn twice", s.sameTurnTwice)
		t.Run("same id in one batch", s.sameIDInBatch)
		t.Run("concurrent identical batches", s.concurrentBatches)
		t.Run("concurrent batches are seen whole", s.atomicBatches)
	})
	t.Run("retire", func(t *testing.T) {
		t.Run("removes and keeps away", s.retireKeepsAway)
		t.Run("works before the turn was ever seen", s.retireUnknown)
		t.Run("keeps away what had fallen out", s.retireFallen)
	})
	t.Run("keep", func(t *testing.T) {
		t.Run("adds, and takes nothing from the others' budget", s.keepBesideBudget)
		t.Run("holds what would fall out", s.keepHolds)
		t.Run("has a budget of its own", s.keepBudget)
		t.Run("ends with its time", s.keepEnds)
		t.Run("is not shortened, and can be prolonged", s.keepLonger)
		t.Run("does not outlive the age limit", s.keepAge)
		t.Run("does not bring back what was retired", s.keepRetired)
		t.Run("comes back as it was, once", s.keepRoundTrip)
		t.Run("without id or time is terminal and leaves the window alone", s.keepRefused)
	})
	t.Run("erase", func(t *testing.T) {
		t.Run("leaves nothing of the user and all of the others", s.eraseAll)
		t.Run("starts anew", s.eraseStartsAnew)
		t.Run("reinstates what was retired, and forgets what was kept, and nothing else", s.reinstate)
	})
	t.Run("isolation", s.isolation)
	t.Run("expiry", func(t *testing.T) {
		t.Run("an idle window is forgotten with its retired turns", s.expiry)
		t.Run("a write puts expiry off", s.expiryPutOff)
	})
	t.Run("property: equals the model", s.model)
}

// runs makes the scopes of several runs on one server differ.
var runs atomic.Int64

type suite struct {
	factory Factory
	run     int64
	users   atomic.Int64
}

// scope returns an unused user.
func (s *suite) scope() memory.Scope {
	return memory.Scope{Tenant: "acme", User: fmt.Sprintf("user-%d-%d-%d", time.Now().UnixNano(), s.run, s.users.Add(1))}
}

// wide are limits that a short test never reaches.
var wide = window.Limits{Words: 100_000, Age: 1000 * time.Hour, Idle: time.Hour}

// base is an arbitrary time in the past, because windows use the turns' time.
var base = time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)

// turnWords is the number of words in a turn from the function turn, for an id without spaces.
const turnWords = 3

// turn returns a turn with a unique text.
func turn(id string, after time.Duration) memory.Turn {
	return memory.Turn{ID: id, SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "text of " + id,
		Time: base.Add(after)}
}

// tester is the common part of *testing.T and *rapid.T for the helpers.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

func mustAppend(t tester, w window.Window, scope memory.Scope, turns ...memory.Turn) {
	t.Helper()
	if err := w.Append(t.Context(), scope, turns); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func mustRetire(t tester, w window.Window, scope memory.Scope, ids ...string) {
	t.Helper()
	if err := w.Retire(t.Context(), scope, ids); err != nil {
		t.Fatalf("retire: %v", err)
	}
}

func mustKeep(t tester, w window.Window, scope memory.Scope, until time.Duration, turns ...memory.Turn) {
	t.Helper()
	kept := make([]window.Kept, len(turns))
	for i, turn := range turns {
		kept[i] = window.Kept{Turn: turn, Until: base.Add(until)}
	}
	if err := w.Keep(t.Context(), scope, kept); err != nil {
		t.Fatalf("keep: %v", err)
	}
}

// recent returns the window without a time limit.
func recent(t tester, w window.Window, scope memory.Scope) []memory.Turn {
	t.Helper()
	return recentAt(t, w, scope, time.Time{})
}

func recentAt(t tester, w window.Window, scope memory.Scope, at time.Time) []memory.Turn {
	t.Helper()
	turns, err := w.Recent(t.Context(), scope, at)
	if err != nil {
		t.Fatalf("recent: %v", err)
	}
	return turns
}

func ids(turns []memory.Turn) []string {
	out := make([]string, 0, len(turns))
	for _, turn := range turns {
		out = append(out, turn.ID)
	}
	return out
}

func wantIDs(t tester, w window.Window, scope memory.Scope, want ...string) {
	t.Helper()
	if got := ids(recent(t, w, scope)); !reflect.DeepEqual(got, append([]string{}, want...)) {
		t.Fatalf("window is %v, want %v", got, want)
	}
}
