package consolidation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
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
	tooMuch := temporal.NewNonRetryableApplicationError("4 turns say 4000 things", "too_large", nil)
	env, s := newRun(t)
	s.failExtract["s1"] = slices.Repeat([]error{tooMuch}, 12) // of 4 turns, of 2, of 1, of 256 things that it says, of 128 ... of 1
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), turn("s1", 3), turn("s1", 4), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 1 {
		t.Fatalf("dead letters %+v, want the first turn alone", s.deadLetters)
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
	if !errors.As(err, &app) || app.Type() != "too_large" || !app.NonRetryable() {
		t.Fatalf("got %v, want a refusal that is not retried", err)
	}
	if _, err := s.Extract(t.Context(), batchOf(1, things[0])); err != nil {
		t.Errorf("one of the turns: %v", err)
	}
}

// bounded is the steps of a shop, which see that nothing goes in or out that Temporal would not carry.
type bounded struct {
	shop
	t       *testing.T
	largest int
}

func (b *bounded) see(values ...any) {
	for _, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			b.t.Error(err)
		}
		b.largest = max(b.largest, len(data))
	}
}

func (b *bounded) Extract(ctx context.Context, in consolidation.Batch) (out consolidation.Extracted, err error) {
	out, err = b.shop.Extract(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Relate(ctx context.Context, in consolidation.RelateInput) (out consolidation.Neighbourhood, err error) {
	out, err = b.shop.Relate(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Decide(ctx context.Context, in consolidation.DecideInput) (out consolidation.Decided, err error) {
	out, err = b.shop.Decide(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Apply(ctx context.Context, in consolidation.ApplyInput) error {
	b.see(in)
	return b.shop.Apply(ctx, in)
}

// literal takes every sentence as a statement, holds some of them against the bank and adds all of them.
type literal struct{}

func (literal) Version() string { return "literal" }

func (literal) Extract(_ context.Context, in formation.Session) (out []formation.Candidate, _ error) {
	for _, t := range in.Turns {
		for sentence := range strings.SplitSeq(t.Text, ". ") {
			c := formation.Candidate{Content: sentence, Sources: []string{t.ID}}
			if len(out)%50 > 0 {
				c.Neighbours = formation.NoNeighbours
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func (literal) Decide(_ context.Context, in formation.Bundle) (out formation.Verdict, _ error) {
	for _, r := range in.Related {
		c := r.Candidate
		m := memory.Memory{ID: memory.DeriveID(in.Session.Scope, c.Sources, c.Ordinal), Content: c.Content, Kind: memory.KindFact}
		out.Operations = append(out.Operations, memory.Operation{Kind: memory.OpAdd, New: &m, Sources: c.Sources})
	}
	return out, nil
}

// A session of the longest turns there can be, of which one says more than fits into a payload, over a bank of large entries.
func TestTheLargestSessionIsFormedInSeveralSteps(t *testing.T) {
	const turns = 6
	env, s := newRun(t)
	b := &bounded{shop: newShop(t), t: t}
	b.Formers = func(string, string) (formation.Former, error) { return literal{}, nil }
	for name, f := range map[string]any{"Extract": b.Extract, "Relate": b.Relate, "Decide": b.Decide, "Apply": b.Apply} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	var old memory.Write
	for n := range 100 {
		old.Put = append(old.Put, memory.Memory{
			ID: memory.DeriveID(owner, []string{"old"}, n), Content: fmt.Sprint("I own ", n), Value: strings.Repeat("<", memory.MaxValueBytes),
			Status: memory.StatusActive, Sources: []string{"old"}, Vector: make(memory.Vector, builtin.Dimension), RecordedAt: start,
		})
	}
	if err := b.Bank.Write(t.Context(), owner, old); err != nil {
		t.Fatal(err)
	}
	var events []consolidation.Event
	statements := 0
	for n := range turns {
		e := turn("s1", n)
		e.Turn.Text = strings.Repeat("<", memory.MaxTextBytes)
		if n == 3 {
			e.Turn.Text = "I own 0"
			for len(e.Turn.Text) < memory.MaxTextBytes-20 {
				statements++
				e.Turn.Text += fmt.Sprintf(". I own %d red apples", statements)
			}
		}
		statements++
		events = append(events, e)
	}
	signals(env, append(events, closed("s1")))
	p := params()
	p.Tuning.MaxTurns = 400
	finish(t, env, p)
	kept, err := b.Bank.Count(t.Context(), owner)
	if err != nil || kept.Turns != turns || kept.Memories != statements+len(old.Put) {
		t.Errorf("the bank has %+v, %v, want %d statements of %d turns beside what it had", kept, err, statements, turns)
	}
	for _, d := range s.deadLetters {
		t.Errorf("%d turns are a dead letter: %s", len(d.Batch.Turns), d.Reason)
	}
	if b.largest > 2<<20 {
		t.Errorf("a payload had %d bytes", b.largest)
	}
}

// oneOfAll makes one candidate of all that a session says, as RMM's topics may.
type oneOfAll struct{ literal }

func (oneOfAll) Extract(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	var c formation.Candidate
	for _, t := range in.Turns {
		c.Content, c.Sources = c.Content+t.Text, append(c.Sources, t.ID)
	}
	return []formation.Candidate{c}, nil
}

// The first decision on a turn id stands: another text under the id of a turn that was dropped does not become memory, not even as part of
// what other turns say, and a turn that passed first is not lost to a later decision.
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
	if left, err := s.Window.Recent(t.Context(), owner); err != nil || len(left) != 0 {
		t.Errorf("the window still shows %v, %v", left, err)
	}
}

// A newer version may take an entry's place after its deletion was asked for: whoever asked is told.
func TestARetractionOfASupersededEntryIsRefused(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	entry := s.list(t)[0]
	w := memory.Write{Close: []memory.Closing{{ID: entry.ID, Status: memory.StatusSuperseded, ValidTo: start, OperationID: "op1"}}}
	if err := s.Bank.Write(t.Context(), owner, w); err != nil {
		t.Fatal(err)
	}
	in := consolidation.RetractInput{Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: entry.ID}, Now: start}
	var refused *temporal.ApplicationError
	if err := s.Retract(t.Context(), in); !errors.As(err, &refused) || refused.Type() != "terminal" || !refused.NonRetryable() ||
		!strings.Contains(err.Error(), "superseded") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}
