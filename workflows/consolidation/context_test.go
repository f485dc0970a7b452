package consolidation_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// aside returns a turn that is context only.
func aside(session string, n int) consolidation.Event {
	e := turn(session, n)
	e.Context = true
	return e
}

// read lists the ids of the context of each consolidation.
func (s *steps) read() [][]string {
	out := [][]string{}
	for _, a := range s.applied {
		ids := []string{}
		for _, t := range a.Batch.Context {
			ids = append(ids, t.ID)
		}
		out = append(out, ids)
	}
	return out
}

func TestContextIsReadWithItsSession(t *testing.T) {
	env, s := newRun(t)
	signals(env,
		[]consolidation.Event{aside("s1", 3), aside("s1", 1), turn("s2", 1), aside("s2", 2)},
		[]consolidation.Event{turn("s1", 2), aside("s1", 1), closed("s1"), aside("s1", 9), closed("s2")})
	finish(t, env, params())
	if got, want := s.turnsOf(), [][]string{{"s1:2"}, {"s2:1"}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("formed %v, want %v", got, want)
	}
	if got, want := s.read(), [][]string{{"s1:1", "s1:3"}, {"s2:2"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want each session's own, once and in order of time: %v", got, want)
	}
	for _, a := range s.applied {
		if n := len(a.Decided.Write.Put); n != 1 {
			t.Errorf("%d entries of session %s, want one of its turn", n, a.Batch.SessionID)
		}
	}
}

// A session taken in parts reads each part with its context. Context between two parts is read with both.
func TestContextIsReadWithThePartItStandsBy(t *testing.T) {
	env, s := newRun(t)
	var events []consolidation.Event
	for n := range 6 {
		events = append(events, aside("s1", 10*n), turn("s1", 10*n+5))
	}
	signals(env, append(events, closed("s1")))
	finish(t, env, params())
	want := [][]string{{"s1:0", "s1:10", "s1:20", "s1:30", "s1:40"}, {"s1:40", "s1:50"}}
	if got := s.read(); !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// Context alone starts no consolidation. It does not keep the workflow running longer than a session waits for its
// next turn.
func TestContextAloneIsForgotten(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{aside("s1", 1), aside("s2", 1)}, []consolidation.Event{aside("s1", 2)})
	wantState(t, env, 5*time.Minute, "both sessions' context", func(s consolidation.State) bool {
		return len(s.Open) == 2 && len(s.Open[0].Context) == 2 && len(s.Open[1].Context) == 1
	})
	finish(t, env, params())
	if len(s.applied) != 0 {
		t.Errorf("formed %v", s.turnsOf())
	}
	if took, most := env.Now().Sub(start), params().Tuning.Idle+time.Minute; took > most {
		t.Errorf("the workflow stayed for %s, want at most %s", took, most)
	}
}

// wantState checks the state some time after the start.
func wantState(
	t *testing.T, env *testsuite.TestWorkflowEnvironment, after time.Duration, want string,
	is func(consolidation.State) bool,
) {
	t.Helper()
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(consolidation.QueryState)
		if err != nil {
			t.Errorf("query: %v", err)
			return
		}
		var state consolidation.State
		if err := value.Get(&state); err != nil || !is(state) {
			t.Errorf("state %+v, error %v; want %s", state, err, want)
		}
	}, after)
}

func TestContextDoesNotPutOffAnIdleSession(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{turn("s1", 1)})
	for n := range 20 {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(consolidation.SignalEvents,
				consolidation.Signal{Events: []consolidation.Event{aside("s1", 10+n)}})
		}, time.Duration(n+1)*time.Minute)
	}
	finish(t, env, params())
	if len(s.applied) != 1 {
		t.Fatalf("formed %v", s.turnsOf())
	}
	idle := params().Tuning.Idle
	if at := s.applied[0].Now.Sub(start); at < idle || at > idle+time.Minute {
		t.Errorf("formed after %s, want about %s", at, idle)
	}
}

// The state stays small however many turns are dropped, and keeps the newest context.
func TestContextIsBounded(t *testing.T) {
	const mostOfASession, most = 32 << 10, 128 << 10
	long := func(session string, n int) consolidation.Event {
		e := aside(session, n)
		e.Turn.Text = strings.Repeat("x", 4000)
		return e
	}
	env, s := newRun(t)
	var events []consolidation.Event
	for session := range 20 {
		for n := range 20 {
			events = append(events, long(fmt.Sprintf("s%02d", session), n))
		}
	}
	huge := aside("s19", 99)
	huge.Turn.Text = strings.Repeat("x", memory.MaxTextBytes)
	for len(events) > 0 {
		n := min(len(events), 100)
		signals(env, events[:n])
		events = events[n:]
	}
	env.RegisterDelayedCallback(func() {
		last := []consolidation.Event{huge, turn("s19", 100)}
		env.SignalWorkflow(consolidation.SignalEvents, consolidation.Signal{Events: last})
	}, 10*time.Second)
	wantState(t, env, time.Minute, "no more than fits", func(s consolidation.State) bool {
		total := 0
		for _, o := range s.Open {
			for _, t := range o.Context {
				total += len(t.Text)
			}
		}
		return total <= most && total > most/2
	})
	finish(t, env, params())
	if len(s.applied) != 1 {
		t.Fatalf("formed %v", s.turnsOf())
	}
	got := s.read()[0]
	if n := len(got); n == 0 || n*4000 > mostOfASession || got[n-1] != "s19:19" {
		t.Errorf("read %v, want the newest that fit", got)
	}
}

func TestContextIsErasedWithTheUser(t *testing.T) {
	env, s := newRun(t)
	env.RegisterActivityWithOptions(s.Erase, activity.RegisterOptions{Name: "Erase"})
	signals(env, []consolidation.Event{aside("s1", 1), {ID: "x1", Erase: true}, aside("s1", 2), turn("s1", 3),
		closed("s1")})
	env.ExecuteWorkflow(consolidation.WorkflowName, params())
	value, err := env.QueryWorkflow(consolidation.QueryState)
	var state consolidation.State
	if err == nil {
		err = value.Get(&state)
	}
	if err != nil || len(state.Closed) != 1 || len(state.Closed[0].Context) != 1 ||
		state.Closed[0].Context[0].ID != "s1:2" {
		t.Errorf("state %+v, %v, want what was said after the request alone", state, err)
	}
}

func (s *steps) Erase(context.Context, consolidation.EraseInput) error { return nil }

// A dead letter has only the turns to form. The text of a dropped turn is deleted when its session is done.
func TestADeadLetterHasNoContext(t *testing.T) {
	env, s := newRun(t)
	s.alwaysFail = func() error { return temporal.NewNonRetryableApplicationError("no such strategy", "terminal", nil) }
	signals(env, []consolidation.Event{aside("s1", 1), turn("s1", 2), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 1 || len(s.deadLetters[0].Batch.Context) != 0 {
		t.Errorf("dead letters %+v", s.deadLetters)
	}
}

// onContext names turns of the context in its candidates or its decision.
type onContext struct {
	formation.Former
	extract, decide, core bool
	passing               []formation.Passing
	seen                  []formation.Session
}

func (f *onContext) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	f.seen = append(f.seen, in)
	out, err := f.Former.Extract(ctx, in)
	if f.extract {
		out[0].Sources = append(out[0].Sources, in.Context[0].ID)
	}
	return out, err
}

func (f *onContext) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	f.seen = append(f.seen, in.Session)
	v, err := f.Former.Decide(ctx, in)
	if f.decide {
		v.Operations[0].Sources = append(v.Operations[0].Sources, in.Session.Context[0].ID)
	}
	if f.core {
		op := memory.CoreOperation{Kind: memory.OpAppend, New: "Ana lives in Porto.",
			Sources: []string{in.Session.Context[0].ID}}
		v.Core = append(v.Core, op)
	}
	v.Passing = f.passing
	return v, err
}

func TestNothingMayRestOnContext(t *testing.T) {
	later := start.Add(time.Hour)
	for name, c := range map[string]struct {
		former  *onContext
		refused bool
	}{
		"nothing does":                {&onContext{}, false},
		"a candidate":                 {&onContext{extract: true}, true},
		"an operation":                {&onContext{decide: true}, true},
		"a change of the core block":  {&onContext{core: true}, true},
		"a passing turn":              {&onContext{passing: []formation.Passing{{TurnID: "dropped", Until: later}}}, true},
		"a passing turn of no time":   {&onContext{passing: []formation.Passing{{TurnID: "s1:0"}}}, true},
		"a passing turn nobody said":  {&onContext{passing: []formation.Passing{{TurnID: "s1:9", Until: later}}}, true},
		"a turn of its own is passed": {&onContext{passing: []formation.Passing{{TurnID: "s1:0", Until: later}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			c.former.Former = salimory.NewEmbedded()
			s.Formers = func(string, string) (formation.Former, error) { return c.former, nil }
			b := batchOf(1, "I live in Porto.")
			dropped := b.Turns[0].Turn
			dropped.ID, dropped.Text = "dropped", "Where do you live?"
			events := []consolidation.Event{
				{ID: "e0", SessionID: b.SessionID, Turn: &dropped, Context: true},
				{ID: "e1", SessionID: b.SessionID, Turn: &b.Turns[0].Turn}, {ID: "e2", SessionID: b.SessionID, ClosedAt: start},
			}
			p := consolidation.Params{Scope: owner, Strategy: "salimory", Tuning: params().Tuning}
			if err := consolidation.Form(t.Context(), s.Activities, p, events, start); err != nil {
				t.Fatal(err)
			}
			for _, in := range c.former.seen {
				if len(in.Context) != 1 || in.Context[0].Text != "Where do you live?" {
					t.Errorf("the former was shown %+v as context", in.Context)
				}
			}
			if refused := len(s.announced.deadLetters) > 0; refused != c.refused || refused == (len(s.list(t)) > 0) {
				t.Errorf("refused: %t, with %d memories, want %t", refused, len(s.list(t)), c.refused)
			}
		})
	}
}

// The window holds passing turns for a time, even turns that it dropped before. It does not hold retired turns.
func TestPassingTurnsAreHeldInTheWindow(t *testing.T) {
	s := newShop(t)
	b := batchOf(1, "I am tired today.", "I live in Porto.", "I wait for the bus.")
	until := b.Turns[0].Time.Add(time.Hour)
	passing := []formation.Passing{{TurnID: "s1:0", Until: until}, {TurnID: "s1:2", Until: until}}
	in := consolidation.ApplyInput{Batch: b, Now: start, Decided: consolidation.Decided{
		Passing: passing, Write: memory.Write{Retire: []string{"s1:2"}},
	}}
	for range 2 { // the result is the same after each attempt
		if err := s.Apply(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[time.Time]int{until: 1, until.Add(time.Millisecond): 0} {
		got, err := s.Window.Recent(t.Context(), owner, at)
		if err != nil || len(got) != want || (want == 1 && got[0].ID != "s1:0") {
			t.Errorf("at %s the window has %+v, %v, want %d of the first turn", at, got, err, want)
		}
	}
}

// TestTurnsOfOneTimeKeepTheirOrder has turns with one time. Each turn has a place behind the turns before it.
func TestTurnsOfOneTimeKeepTheirOrder(t *testing.T) {
	env, s := newRun(t)
	var events []consolidation.Event
	for n := range 6 {
		e := turn("s1", n)
		if n%2 == 0 {
			e = aside("s1", n)
		}
		e.Turn.Time = turn("s1", 0).Turn.Time
		events = append(events, e)
	}
	signals(env, append(events, closed("s1")))
	finish(t, env, params())
	for _, a := range s.applied {
		for i, said := range a.Batch.Turns {
			if said.Place <= a.Batch.Context[i].Place || i > 0 && a.Batch.Turns[i-1].Place >= a.Batch.Context[i].Place {
				t.Errorf("turn %s has place %d, its question %s has place %d", said.ID, said.Place, a.Batch.Context[i].ID,
					a.Batch.Context[i].Place)
			}
		}
	}
	if got := s.turnsOf(); len(got) == 0 || len(got[0]) != 3 {
		t.Errorf("formed %v", got)
	}
}
