package consolidation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowinmem "github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// eraser replaces the activity Erase. It records the earlier applied batches.
type eraser struct {
	*steps
	requests []string
	before   [][][]string
	fail     int
}

func (e *eraser) Erase(_ context.Context, in consolidation.EraseInput) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail > 0 {
		e.fail--
		return errors.New("the bank is unavailable")
	}
	e.requests = append(e.requests, in.RequestID)
	e.before = append(e.before, e.turnsOf())
	return nil
}

func newErasing(t *testing.T) (*testsuite.TestWorkflowEnvironment, *eraser) {
	t.Helper()
	env, s := newRun(t)
	e := &eraser{steps: s}
	env.RegisterActivityWithOptions(e.Erase, activity.RegisterOptions{Name: "Erase"})
	return env, e
}

func erasure(id string) consolidation.Event { return consolidation.Event{ID: id, Erase: true} }

// continued runs a workflow that must continue as new, and returns the carried state.
func continued(t *testing.T, env *testsuite.TestWorkflowEnvironment, p consolidation.Params) consolidation.State {
	t.Helper()
	env.ExecuteWorkflow(consolidation.WorkflowName, p)
	var again *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &again) {
		t.Fatalf("ended with %v, want it to continue as new", err)
	}
	var next consolidation.Params
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	return next.State
}

func TestAnErasureDropsWhatWaitsAndEndsTheRun(t *testing.T) {
	env, e := newErasing(t)
	began := env.Now()
	signals(env, []consolidation.Event{turn("s1", 1), turn("s2", 1), erasure("x1")})
	finish(t, env, params())
	if len(e.applied) > 0 || len(e.retract) > 0 || !slices.Equal(e.requests, []string{"x1"}) {
		t.Errorf("applied %v, retracted %v, erased %v; want the erasure alone", e.turnsOf(), e.retract, e.requests)
	}
	if took := env.Now().Sub(began); took >= params().Tuning.Linger {
		t.Errorf("the run stayed for %s: its history must be free to go", took)
	}
}

func TestWhatFollowsAnErasureIsCarriedIntoARunOfItsOwn(t *testing.T) {
	env, e := newErasing(t)
	e.fail = 2 // an erasure that is retried keeps its place
	signals(env, []consolidation.Event{turn("s1", 1), erasure("x1"), turn("s1", 2), closed("s1")},
		[]consolidation.Event{turn("s2", 1)})
	state := continued(t, env, params())
	if len(e.applied) > 0 || !slices.Equal(e.requests, []string{"x1"}) {
		t.Errorf("applied %v, erased %v", e.turnsOf(), e.requests)
	}
	if len(state.Closed) != 1 || len(state.Closed[0].Turns) != 1 || state.Closed[0].Turns[0].ID != "s1:2" {
		t.Errorf("carries the closed sessions %+v, want what came after the erasure", state.Closed)
	}
	if len(state.Seen) < 3 || state.Seen[0] != "x1" || !strings.HasPrefix(state.Seen[1], "e-s1:2") ||
		len(state.Erasures) > 0 {
		t.Errorf("carries %+v, want nothing of before", state)
	}
	env, s := newRun(t)
	p := params()
	p.State = state
	finish(t, env, p)
	if got := s.turnsOf(); len(got) == 0 || !slices.Equal(got[0], []string{"s1:2"}) {
		t.Errorf("the next run applied %v", got)
	}
}

// The batch in progress finishes before the erasure, so that it cannot write afterwards.
func TestAnErasureWaitsForWhatIsInHand(t *testing.T) {
	env, e := newErasing(t)
	e.failExtract["s1"] = []error{errors.New("the model is unavailable"), errors.New("still")}
	signals(env, []consolidation.Event{turn("s1", 1), closed("s1")}, []consolidation.Event{turn("s1", 2), erasure("x1")})
	finish(t, env, params())
	if got := e.turnsOf(); len(got) != 1 || len(e.before) != 1 || len(e.before[0]) != 1 {
		t.Errorf("applied %v, of that before the erasure %v; want what was in hand, before it", got, e.before)
	}
}

// A part of the bus that is delivered again has the same result, although the workflow has seen some of it.
func TestARepeatedErasureTakesEffectAgain(t *testing.T) {
	env, e := newErasing(t)
	stretch := []consolidation.Event{turn("s1", 1), erasure("x1"), turn("s1", 2), closed("s1")}
	signals(env, append(stretch, stretch...))
	state := continued(t, env, params())
	if len(e.applied) > 0 || len(e.requests) == 0 {
		t.Errorf("applied %v, erased %v", e.turnsOf(), e.requests)
	}
	if len(state.Closed) != 1 || len(state.Closed[0].Turns) != 1 || state.Closed[0].Turns[0].ID != "s1:2" {
		t.Errorf("carries %+v, want the turn after the erasure once", state.Closed)
	}
}

// begun keeps the arguments of Begin.
type begun struct {
	erased []consolidation.Erased
	err    error
}

func (b *begun) Begin(_ context.Context, e consolidation.Erased) error {
	if b.err == nil {
		b.erased = append(b.erased, e)
	}
	return b.err
}

// heard keeps the announced changes.
type heard struct {
	consolidation.Announcer
	changes []memory.Change
}

func (a *heard) Announce(_ context.Context, _ memory.Scope, changes []memory.Change, _ time.Time) error {
	a.changes = append(a.changes, changes...)
	return nil
}

// leaky is a bank that reports an erasure without erasing.
type leaky struct{ bank.Bank }

func (leaky) Erase(context.Context, memory.Scope) error { return nil }

func erasing(t *testing.T) (*consolidation.Activities, *begun, *heard) {
	t.Helper()
	w, err := windowinmem.New(window.Limits{Words: 100, Age: time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, out := &begun{}, &heard{}
	a := &consolidation.Activities{Bank: bankinmem.New(2), Window: w, Announce: out, Erasures: b}
	write := memory.Write{
		Put: []memory.Memory{{ID: "m1", Content: "Ana swims.", RecordedAt: start, Status: memory.StatusActive,
			Vector: memory.Vector{1, 0}}},
		Turns: []memory.Turn{{ID: "t1"}},
	}
	scope := params().Scope
	late := []window.Kept{{Turn: memory.Turn{ID: "before", Text: "I am tired.", Time: start}, Until: start.Add(time.Hour)}}
	kept := errors.Join(w.Append(t.Context(), scope, []memory.Turn{{ID: "after", Time: start}}),
		w.Keep(t.Context(), scope, late))
	if err := errors.Join(a.Bank.Write(t.Context(), scope, write), w.Retire(t.Context(), scope, []string{"t1"}),
		kept); err != nil {
		t.Fatal(err)
	}
	return a, b, out
}

func runErase(t *testing.T, a *consolidation.Activities) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.Erase)
	_, err := env.ExecuteActivity(a.Erase, consolidation.EraseInput{Scope: params().Scope, RequestID: "x1", Now: start})
	return err
}

func TestEraseEmptiesTheBankAndGoesOn(t *testing.T) {
	a, b, out := erasing(t)
	for range 2 {
		if err := runErase(t, a); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := a.Bank.Count(t.Context(), params().Scope)
	if err != nil || counts.Total() != 0 {
		t.Errorf("the bank holds %+v, %v", counts, err)
	}
	// The writer keeps turns that the intake wrote later, and clears the turns that it held itself.
	if got, err := a.Window.Count(t.Context(), params().Scope); err != nil || got != (window.Counts{Turns: 1}) {
		t.Errorf("the window holds %+v, %v", got, err)
	}
	if len(b.erased) != 2 || b.erased[0] != b.erased[1] || b.erased[0].RequestID != "x1" || b.erased[0].RunID == "" {
		t.Errorf("began %+v, want the same twice", b.erased)
	}
	if len(out.changes) != 2 || out.changes[0].OperationID != "x1" || out.changes[0].Kind != memory.OpErase {
		t.Errorf("announced %+v", out.changes)
	}
}

func TestEraseDoesNotTakeTheBanksWord(t *testing.T) {
	a, b, _ := erasing(t)
	a.Bank = leaky{a.Bank}
	if err := runErase(t, a); err == nil {
		t.Error("the bank is not empty, and nobody noticed")
	}
	if len(b.erased) > 0 {
		t.Errorf("began %+v although the bank is not empty", b.erased)
	}
}

func TestAnErasureThatCannotGoOnIsTriedAgain(t *testing.T) {
	a, b, _ := erasing(t)
	b.err = errors.New("temporal is unavailable")
	if err := runErase(t, a); err == nil {
		t.Error("nobody noticed")
	}
}
