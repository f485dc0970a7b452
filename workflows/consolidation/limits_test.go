package consolidation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Many turns of the maximum size at once do not make a payload that the server refuses.
func TestLargeSessionsStayWithinPayloads(t *testing.T) {
	const turns = 40
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

// A run that must continue as new first finishes a state that is too large to carry.
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

// A batch with too much content is halved. A single turn with too much content goes to the dead letters.
func TestWhatSaysTooMuchIsTakenInHalves(t *testing.T) {
	tooMuch := temporal.NewNonRetryableApplicationError("4 turns say 4000 things", "too_large", nil)
	env, s := newRun(t)
	// of 4 turns, of 2, of 1, of 256 things in one turn, of 128 ... of 1
	s.failExtract["s1"] = slices.Repeat([]error{tooMuch}, 12)
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), turn("s1", 3), turn("s1", 4), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 1 {
		t.Fatalf("dead letters %+v, want the first turn alone", s.deadLetters)
	}
	if len(s.applied) != 3 || !s.applied[2].Batch.Closes {
		t.Errorf("%d batches were applied, want the other three turns one by one", len(s.applied))
	}
}

// If a model's answer is cut off, the workflow asks about half the turns.
func TestWhatIsAnsweredAtTooGreatLengthIsAskedInHalves(t *testing.T) {
	tooLong := temporal.NewNonRetryableApplicationError("model answer truncated", "too_long", nil)
	env, s := newRun(t)
	s.failExtract["s1"] = slices.Repeat([]error{tooLong}, 4) // of 4 turns, of 2, of 1, of 1 without context
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), turn("s1", 3), turn("s1", 4), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 1 ||
		!strings.Contains(s.deadLetters[0].Reason, "truncated") {
		t.Fatalf("dead letters %+v, want the first turn alone", s.deadLetters)
	}
	if len(s.applied) != 3 || !s.applied[2].Batch.Closes || len(s.failExtract["s1"]) != 0 {
		t.Errorf("%d batches were applied, want the other three turns one by one", len(s.applied))
	}
}

func TestExtractRefusesTooMuch(t *testing.T) {
	s := newShop(t)
	s.Formers = func(string, string) (formation.Former, error) { return literal{}, nil }
	things := make([]string, 20)
	for i := range things { // brackets take six bytes of JSON
		things[i] = fmt.Sprintf("I bought fruit number %d in Porto:", i) + strings.Repeat(" <<<<<apples>>>>>", 1900)
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

// bounded checks that the arguments and results of a shop's steps fit into a Temporal payload.
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

func (b *bounded) Relate(
	ctx context.Context, in consolidation.RelateInput,
) (out consolidation.Neighbourhood, err error) {
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

func (b *bounded) Search(
	ctx context.Context, in consolidation.SearchInput,
) (out consolidation.SearchResult, err error) {
	out, err = b.shop.Search(ctx, in)
	if err == nil {
		b.see(in, out)
	}
	return out, err
}

func (b *bounded) Apply(ctx context.Context, in consolidation.ApplyInput) error {
	b.see(in)
	return b.shop.Apply(ctx, in)
}

// literal takes every sentence as a statement, compares some of them with the bank and adds all of them.
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
		m := memory.Memory{ID: memory.DeriveID(in.Session.Scope, c.Sources, c.Ordinal), Content: c.Content,
			Kind: memory.KindFact}
		out.Operations = append(out.Operations, memory.Operation{Kind: memory.OpAdd, New: &m, Sources: c.Sources})
	}
	return out, nil
}

// A session of the longest allowed turns is formed in several steps, over a bank of large entries. One turn has more
// content than fits into a payload.
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
			ID: memory.DeriveID(owner, []string{"old"}, n), Content: fmt.Sprint("I own ", n),
			Value:  strings.Repeat("<", memory.MaxValueBytes),
			Status: memory.StatusActive, Sources: []string{"old"}, Vector: make(memory.Vector, builtin.Dimension),
			RecordedAt: start,
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

// maxPayload is the limit of a step's arguments and results, in bytes of JSON.
const maxPayload = 1900 << 10

// jsonSize is the size of a value as JSON.
func jsonSize(t *testing.T, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

func isTooLarge(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == "too_large" && app.NonRetryable()
}
