package consolidation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// The largest turns allowed, many at once, must not make a payload that the server refuses.
func TestLargeSessionsStayWithinPayloads(t *testing.T) {
	const turns = 100
	env, s := newRun(t)
	p := params()
	p.Tuning.MaxTurns = 32
	var lists [][]consolidation.Event
	for n := 1; n <= turns; n++ {
		e := turn("s1", n)
		e.Turn.Text = strings.Repeat("x", memory.MaxTextBytes)
		lists = append(lists, []consolidation.Event{e})
	}
	signals(env, append(lists, []consolidation.Event{closed("s1")})...)
	finish(t, env, p)
	applied := 0
	for _, a := range s.applied {
		bytes := 0
		for _, turn := range a.Batch.Turns {
			bytes += len(turn.Text)
		}
		if bytes > 300<<10 {
			t.Errorf("a batch has %d bytes of text", bytes)
		}
		applied += len(a.Batch.Turns)
	}
	if applied != turns || !s.applied[len(s.applied)-1].Batch.Closes {
		t.Errorf("%d of %d turns were consolidated", applied, turns)
	}
}

// A run that is asked to continue as new finishes what is too large to be carried first.
func TestContinueAsNewNeverCarriesTooMuch(t *testing.T) {
	env, s := newRun(t)
	env.SetContinueAsNewSuggested(true)
	var events []consolidation.Event
	for n := 1; n <= 60; n++ {
		e := turn("s1", n)
		e.Turn.Text = strings.Repeat("x", memory.MaxTextBytes)
		events = append(events, e)
	}
	signals(env, events)
	env.ExecuteWorkflow(consolidation.WorkflowName, params())
	if err := env.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "continue as new") {
		t.Fatalf("ended with %v, want continue-as-new", err)
	}
	if len(s.applied) == 0 {
		t.Error("two megabytes were carried instead of being worked off")
	}
}

// A batch that says too much is taken in halves, and a single turn that does goes to the dead letters.
func TestWhatSaysTooMuchIsTakenInHalves(t *testing.T) {
	tooMuch := temporal.NewNonRetryableApplicationError("4 turns say 4000 things", "too large", nil)
	env, s := newRun(t)
	s.failExtract["s1"] = []error{tooMuch, tooMuch, tooMuch} // of 4 turns, of 2, of 1
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), turn("s1", 3), turn("s1", 4), closed("s1")})
	finish(t, env, params())
	if len(s.letters) != 1 || len(s.letters[0].Batch.Turns) != 1 {
		t.Fatalf("dead letters %+v, want the first turn alone", s.letters)
	}
	if len(s.applied) != 3 || !s.applied[2].Batch.Closes {
		t.Errorf("%d batches were applied, want the other three turns one by one", len(s.applied))
	}
}

func TestExtractRefusesTooMuch(t *testing.T) {
	s := newShop(t)
	things := make([]string, 8)
	for i := range things {
		var b strings.Builder
		for n := range 260 {
			fmt.Fprintf(&b, "I bought %d apples number %d in Porto. ", n, i)
		}
		things[i] = b.String()
	}
	_, err := s.Extract(t.Context(), batchOf(1, things...))
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != "too large" || !app.NonRetryable() {
		t.Fatalf("got %v, want a refusal that is not retried", err)
	}
	if _, err := s.Extract(t.Context(), batchOf(1, things[0])); err != nil {
		t.Errorf("one of the turns: %v", err)
	}
}

// A turn that came again with another text leaves the evidence as it was.
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

// shakyWindow fails its first retirement.
type shakyWindow struct {
	window.Window
	failed bool
}

func (w *shakyWindow) Retire(ctx context.Context, scope memory.Scope, ids []string) error {
	if !w.failed {
		w.failed = true
		return errors.New("redis is away")
	}
	return w.Window.Retire(ctx, scope, ids)
}

func TestARetractionIsFinishedByItsNextAttempt(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	if err := s.Window.Append(t.Context(), owner, batchOf(1, "I live in Porto.").Turns); err != nil {
		t.Fatal(err)
	}
	s.Activities.Window = &shakyWindow{Window: s.Window}
	in := consolidation.RetractInput{Scope: owner, EventID: "d1", MemoryID: s.list(t)[0].ID, Now: start.Add(time.Hour)}
	if err := s.Retract(t.Context(), in); err == nil {
		t.Fatal("a window that is away is no error")
	}
	if err := s.Retract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Window.Recent(t.Context(), owner); err != nil || len(left) != 0 {
		t.Errorf("the window still shows %v, %v", left, err)
	}
}
