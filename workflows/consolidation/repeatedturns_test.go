package consolidation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// The first decision on a turn id stands. Another text under the id of a dropped turn does not become memory, not
// even as part of other turns' content. A turn that passed first survives a later decision.
func TestTheFirstDecisionOnATurnStands(t *testing.T) {
	const taken, other = "I live in Madrid.", "I am a nurse."
	for name, c := range map[string]struct {
		passed, dropped time.Time
		lost            bool
	}{
		"dropped, then passed with another text": {start.Add(time.Millisecond), start, true},
		"passed, then dropped":                   {start, start.Add(time.Millisecond), false},
		"passed and dropped at a time":           {start, start, false},
		"nobody knows when it passed":            {time.Time{}, start, false},
		"nobody knows when it was dropped":       {start, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.Formers = func(string, string) (formation.Former, error) { return oneOfAll{}, nil }
			b := batchOf(1, taken, other)
			dropped := memory.Dropped{TurnID: b.Turns[0].ID, SessionID: "s1", Time: start, DecidedAt: c.dropped}
			if err := s.Bank.WriteDropped(t.Context(), owner, []memory.Dropped{dropped}); err != nil {
				t.Fatal(err)
			}
			var events []consolidation.Event
			for i := range b.Turns {
				e := consolidation.Event{ID: b.Turns[i].EventID, SessionID: "s1", Turn: &b.Turns[i].Turn, DecidedAt: start}
				if i == 0 {
					e.DecidedAt = c.passed
				}
				events = append(events, e)
			}
			if err := consolidation.Form(t.Context(), s.Activities, params(), append(events, closed("s1")), start); err != nil {
				t.Fatal(err)
			}
			want, turns := taken+other, 2
			if c.lost {
				want, turns = other, 1
			}
			kept, err := s.Bank.Turns(t.Context(), owner, []string{b.Turns[0].ID, b.Turns[1].ID})
			if err != nil || len(kept) != turns || s.session(t, "s1").Turns != turns || !s.session(t, "s1").Closed {
				t.Errorf("the turns kept are %+v, %v, and the session is %+v", kept, err, s.session(t, "s1"))
			}
			if entries := s.list(t); len(entries) != 1 || entries[0].Content != want {
				t.Errorf("the bank has %+v, want %q", entries, want)
			}
		})
	}
}

// A turn that comes again with another text does not change the evidence.
func TestAResentTurnDoesNotReplaceTheEvidence(t *testing.T) {
	s := newShop(t)
	first := batchOf(1, "I live in Madrid.")
	s.consolidate(t, first, start)
	again := batchOf(1, "I live in Valencia.")
	s.consolidate(t, again, start.Add(time.Hour))
	kept, err := s.Bank.Turns(t.Context(), owner, []string{first.Turns[0].ID})
	if err != nil || len(kept) != 1 || kept[0].Text != "I live in Madrid." {
		t.Errorf("the evidence is %+v, %v", kept, err)
	}
}

// A turn id that comes with another session or text goes to the dead letters. This holds if the first turn waits and
// if it is formed. The first turn stays unchanged.
func TestAReusedTurnIDIsADeadLetter(t *testing.T) {
	event := func(session, said string) consolidation.Event {
		return consolidation.Event{ID: "e-1", SessionID: session, Turn: &memory.Turn{
			ID: "1", SessionID: session, Speaker: "Ana", Role: memory.RoleUser, Text: said, Time: start},
			DecidedAt: start.Add(time.Second)}
	}
	const lives, other = "I live in Madrid.", "I am a nurse."
	mon := event("mon", lives)
	for name, c := range map[string]struct {
		before, now []consolidation.Event
		letters     []string
	}{
		"the same again":           {[]consolidation.Event{mon}, []consolidation.Event{mon, mon}, nil},
		"another session":          {[]consolidation.Event{mon}, []consolidation.Event{event("tue", lives)}, []string{lives}},
		"another text":             {[]consolidation.Event{mon}, []consolidation.Event{event("mon", other)}, []string{other}},
		"another session, at once": {nil, []consolidation.Event{mon, closed("mon"), event("tue", other)}, []string{other}},
		"another text, at once":    {nil, []consolidation.Event{mon, event("mon", other), mon}, []string{other}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newShop(t), params()
			p.Tuning.Idle = 0
			for _, events := range [][]consolidation.Event{c.before, c.now} {
				if err := consolidation.Form(t.Context(), s.Activities, p, events, start); err != nil {
					t.Fatal(err)
				}
			}
			var letters []string
			for _, b := range s.announced.deadLetters {
				for _, l := range b.Turns {
					letters = append(letters, l.Text)
				}
			}
			kept, err := s.Bank.Turns(t.Context(), owner, []string{"1"})
			if err != nil || len(kept) != 1 || !kept[0].SameAs(*mon.Turn) || !slices.Equal(letters, c.letters) {
				t.Errorf("kept %+v, %v; the dead letters are %q, want %q", kept, err, letters, c.letters)
			}
		})
	}
}

// The record of a dropped turn includes its session.
func TestADroppedTurnsIDInAnotherSessionIsADeadLetter(t *testing.T) {
	for session, want := range map[string]int{"s1": 0, "s2": 1} {
		s, b := newShop(t), batchOf(1, "I live in Madrid.")
		dropped := memory.Dropped{TurnID: b.Turns[0].ID, SessionID: session, Time: start, DecidedAt: start}
		if err := s.Bank.WriteDropped(t.Context(), owner, []memory.Dropped{dropped}); err != nil {
			t.Fatal(err)
		}
		passed := consolidation.Event{ID: "e", SessionID: "s1", Turn: &b.Turns[0].Turn, DecidedAt: start.Add(time.Second)}
		if err := consolidation.Form(t.Context(), s.Activities, params(), []consolidation.Event{passed, closed("s1")},
			start); err != nil {
			t.Fatal(err)
		}
		if got := len(s.announced.deadLetters); got != want || len(s.list(t)) > 0 {
			t.Errorf("dropped in %s: %d dead letters, want %d; the bank has %+v", session, got, want, s.list(t))
		}
	}
}

// shakyWindow fails its first retirement.
type shakyWindow struct {
	window.Window
	failed bool
}

func (w *shakyWindow) Retire(ctx context.Context, scope memory.Scope, ids []string) error {
	if !w.failed {
		w.failed = true
		return errors.New("redis is unavailable")
	}
	return w.Window.Retire(ctx, scope, ids)
}

func TestARetractionIsFinishedByItsNextAttempt(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	if err := s.Window.Append(t.Context(), owner, turnsOf(batchOf(1, "I live in Porto."))); err != nil {
		t.Fatal(err)
	}
	s.Activities.Window = &shakyWindow{Window: s.Window}
	in := consolidation.RetractInput{
		Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: s.list(t)[0].ID}, Now: start.Add(time.Hour),
	}
	if err := s.Retract(t.Context(), in); err == nil {
		t.Fatal("a window that is unavailable is no error")
	}
	if err := s.Retract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Window.Recent(t.Context(), owner, time.Time{}); err != nil || len(left) != 0 {
		t.Errorf("the window still shows %v, %v", left, err)
	}
}

// A newer version may replace an entry after the request for its deletion. The caller gets an error then.
func TestARetractionOfASupersededEntryIsRefused(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	entry := s.list(t)[0]
	w := memory.Write{Close: []memory.Closing{{ID: entry.ID, Status: memory.StatusSuperseded, ValidTo: start,
		OperationID: "op1"}}}
	if err := s.Bank.Write(t.Context(), owner, w); err != nil {
		t.Fatal(err)
	}
	in := consolidation.RetractInput{Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: entry.ID},
		Now: start}
	var refused *temporal.ApplicationError
	if err := s.Retract(t.Context(), in); !errors.As(err, &refused) || refused.Type() != "terminal" ||
		!refused.NonRetryable() ||
		!strings.Contains(err.Error(), "superseded") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}
