package consolidation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowinmem "github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

var owner = memory.Scope{Tenant: "acme", User: "ana"}

// announced keeps the announced changes.
type announced struct {
	changes     []memory.Change
	deadLetters []consolidation.Batch
	err         error
}

func (a *announced) Announce(_ context.Context, _ memory.Scope, changes []memory.Change, _ time.Time) error {
	if a.err == nil {
		a.changes = append(a.changes, changes...)
	}
	return a.err
}

func (a *announced) DeadLetter(_ context.Context, b consolidation.Batch, _ string, _ time.Time) error {
	a.deadLetters = append(a.deadLetters, b)
	return a.err
}

// shop is the activities with stores in memory.
type shop struct {
	*consolidation.Activities
	announced *announced
}

func newShop(t *testing.T) shop {
	t.Helper()
	win, err := windowinmem.New(window.Limits{Words: 1000, Age: 1000 * time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &announced{}
	return shop{announced: out, Activities: &consolidation.Activities{
		Formers:  func(string, string) (formation.Former, error) { return salimory.NewEmbedded(), nil },
		Embedder: builtin.New(), Bank: bankinmem.New(builtin.Dimension), Window: win, Announce: out,
	}}
}

// batchOf is a closed session of ana, one turn a text, a day after the session before.
func batchOf(session int, texts ...string) consolidation.Batch {
	b := consolidation.Batch{Scope: owner, Strategy: "salimory", Policy: "embedded", SessionID: fmt.Sprint("s", session),
		Closes: true}
	for i, text := range texts {
		b.Turns = append(b.Turns, consolidation.Turn{EventID: fmt.Sprintf("e%d:%d", session, i), Turn: memory.Turn{
			ID: fmt.Sprintf("s%d:%d", session, i), SessionID: b.SessionID, Speaker: "Ana", Role: memory.RoleUser, Text: text,
			Time: start.Add(time.Duration(session-10)*24*time.Hour + time.Duration(i)*time.Minute),
		}})
	}
	return b
}

// turnsOf returns only the turns of a batch.
func turnsOf(b consolidation.Batch) []memory.Turn {
	var out []memory.Turn
	for _, t := range b.Turns {
		out = append(out, t.Turn)
	}
	return out
}

// decide runs all steps up to the decision.
func (s shop) decide(ctx context.Context, t *testing.T, b consolidation.Batch, now time.Time) consolidation.ApplyInput {
	t.Helper()
	extracted, err := s.Extract(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	b.Turns = slices.DeleteFunc(slices.Clone(b.Turns), func(t consolidation.Turn) bool {
		return slices.Contains(extracted.Known, t.ID)
	})
	near, err := s.Relate(ctx, consolidation.RelateInput{Batch: b, Candidates: extracted.Candidates})
	if err != nil {
		t.Fatal(err)
	}
	decided, err := s.Decide(ctx, consolidation.DecideInput{Batch: b, Neighbourhood: near, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return consolidation.ApplyInput{Batch: b, Decided: decided, Now: now}
}

func (s shop) consolidate(t *testing.T, b consolidation.Batch, now time.Time) consolidation.ApplyInput {
	t.Helper()
	in := s.decide(t.Context(), t, b, now)
	if err := s.Apply(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return in
}

func (s shop) list(t *testing.T, statuses ...memory.Status) []memory.Memory {
	t.Helper()
	page, err := s.Bank.List(t.Context(), owner, bank.ListOptions{Statuses: statuses})
	if err != nil {
		t.Fatal(err)
	}
	return page.Memories
}

func (s shop) session(t *testing.T, id string) memory.SessionRecord {
	t.Helper()
	r, ok, err := s.Bank.Session(t.Context(), owner, id)
	if err != nil || !ok {
		t.Fatalf("session %s: %t, %v", id, ok, err)
	}
	return r
}

func TestASessionBecomesMemories(t *testing.T) {
	s := newShop(t)
	traceID, _ := trace.TraceIDFromHex("0123456789abcdef0123456789abcdef")
	spanID, _ := trace.SpanIDFromHex("0123456789abcdef")
	ctx := trace.ContextWithSpanContext(t.Context(),
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID}))
	b := batchOf(1, "I live in Porto.", "I am allergic to peanuts.")
	in := s.decide(ctx, t, b, start)
	if len(in.Decided.Write.Put) < 2 {
		t.Fatalf("puts %+v", in.Decided.Write.Put)
	}
	for _, m := range in.Decided.Write.Put {
		if len(m.Vector) != builtin.Dimension {
			t.Errorf("%q has a vector of %d", m.Content, len(m.Vector))
		}
		if m.TraceID != traceID.String() || m.SpanID != spanID.String() {
			t.Errorf("%q is marked with trace %s, span %s", m.Content, m.TraceID, m.SpanID)
		}
		if !m.RecordedAt.Equal(start) || m.Status != memory.StatusActive || len(m.Sources) == 0 {
			t.Errorf("got %+v", m)
		}
	}
	if err := s.Apply(ctx, in); err != nil {
		t.Fatal(err)
	}
	turns, err := s.Bank.Turns(t.Context(), owner, []string{"s1:0", "s1:1"})
	if err != nil || len(turns) != 2 {
		t.Errorf("%d of two turns are kept, %v", len(turns), err)
	}
	if got := s.session(t, "s1"); !got.Closed || got.Turns != 2 || got.Operations != len(in.Decided.Changes) ||
		!got.FormedAt.Equal(start) {
		t.Errorf("the session is %+v", got)
	}
	want := slices.Concat(in.Decided.Changes, memory.LinesChanges(owner, s.core(t)))
	if !reflect.DeepEqual(s.announced.changes, want) {
		t.Errorf("announced %+v, want %+v", s.announced.changes, want)
	}
}

func TestARepeatedApplyChangesNothing(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	b := batchOf(2, "I moved to Braga.")
	if err := s.Window.Append(t.Context(), owner, turnsOf(batchOf(1, "I live in Porto."))); err != nil {
		t.Fatal(err)
	}
	in := s.decide(t.Context(), t, b, start.Add(time.Hour))
	if len(in.Decided.Write.Close) == 0 {
		t.Fatalf("moving house closes nothing: %+v", in.Decided)
	}
	if err := s.Apply(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	entries, session := s.list(t), s.session(t, "s2")
	for range 3 {
		if err := s.Apply(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if again := s.list(t); !reflect.DeepEqual(again, entries) {
		t.Errorf("the bank was %+v and is %+v", entries, again)
	}
	if again := s.session(t, "s2"); again != session {
		t.Errorf("the session was %+v and is %+v", session, again)
	}
	if left, err := s.Window.Recent(t.Context(), owner, time.Time{}); err != nil || len(left) != 0 {
		t.Errorf("the window still shows what no longer holds: %v, %v", left, err)
	}
}

func TestAnApplyThatEndedBetweenBankAndAnnouncementIsFinishedByTheNext(t *testing.T) {
	s := newShop(t)
	in := s.decide(t.Context(), t, batchOf(1, "I live in Porto."), start)
	s.announced.err = errors.New("brokers are unavailable")
	if err := s.Apply(t.Context(), in); !errors.Is(err, s.announced.err) {
		t.Fatalf("got %v", err)
	}
	session := s.session(t, "s1")
	s.announced.err = nil
	if err := s.Apply(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.announced.changes, in.Decided.Changes) || s.session(t, "s1") != session {
		t.Errorf("announced %+v, session %+v", s.announced.changes, s.session(t, "s1"))
	}
}

func TestASessionThatComesAgainAddsNothing(t *testing.T) {
	s := newShop(t)
	b := batchOf(1, "I live in Porto.", "I am allergic to peanuts.")
	s.consolidate(t, b, start)
	entries, session, changes := s.list(t), s.session(t, "s1"), len(s.announced.changes)
	again := s.consolidate(t, b, start.Add(time.Hour))
	if len(again.Batch.Turns) != 0 || len(again.Decided.Write.Put) != 0 {
		t.Errorf("%v were new, and %+v was decided", again.Batch.Turns, again.Decided)
	}
	if got := s.list(t); !reflect.DeepEqual(got, entries) || len(s.announced.changes) != changes {
		t.Errorf("the bank was %+v and is %+v", entries, got)
	}
	if got := s.session(t, "s1"); got != session {
		t.Errorf("the session was %+v and is %+v", session, got)
	}
}

func TestFurtherBatchesOfASessionAddUp(t *testing.T) {
	s := newShop(t)
	whole := batchOf(1, "I live in Porto.", "I am allergic to peanuts.", "I play tennis.")
	first, second := whole, whole
	first.Turns, first.Closes = whole.Turns[:2], false
	second.Turns = whole.Turns[1:] // one turn comes again
	a := s.consolidate(t, first, start)
	if got := s.session(t, "s1"); got.Closed || got.Turns != 2 {
		t.Errorf("half a session is %+v", got)
	}
	b := s.consolidate(t, second, start.Add(time.Hour))
	want := memory.SessionRecord{
		SessionID: "s1", Closed: true, FormedAt: start.Add(time.Hour), Turns: 3,
		Operations: len(a.Decided.Changes) + len(b.Decided.Changes),
	}
	if got := s.session(t, "s1"); got != want {
		t.Errorf("the session is %+v, want %+v", got, want)
	}
}

func TestRelatedEntriesArePooledWithoutVectors(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto.", "I am allergic to peanuts."), start)
	extracted, err := s.Extract(t.Context(), batchOf(2, "I moved to Braga.", "I sold my flat in Porto."))
	if err != nil {
		t.Fatal(err)
	}
	in := consolidation.RelateInput{Batch: batchOf(2, "I moved to Braga.", "I sold my flat in Porto."),
		Candidates: extracted.Candidates}
	n, err := s.Relate(t.Context(), in)
	if err != nil || len(n.Near) != len(extracted.Candidates) || len(extracted.Known) != 0 {
		t.Fatalf("got %+v, %v", n, err)
	}
	seen := map[string]bool{}
	for _, m := range n.Pool {
		if m.Vector != nil || seen[m.ID] {
			t.Errorf("%q is pooled twice or with its vector", m.Content)
		}
		seen[m.ID] = true
	}
	for i, near := range n.Near {
		if len(near) == 0 {
			t.Errorf("nothing is near to %q", n.Candidates[i].Content)
		}
		for _, one := range near {
			if one.Similarity < -1 || one.Similarity > 1.0001 || one.Pool >= len(n.Pool) {
				t.Errorf("got %+v", one)
			}
		}
	}
}

func TestCandidatesShareWhatTheSessionsOthersFind(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto.", "I am allergic to peanuts.", "My tandem is green."), start)
	b := batchOf(2, "I moved to Braga, away from Porto.", "My tandem is red now.")
	extracted, err := s.Extract(t.Context(), b)
	if err != nil || len(extracted.Candidates) != 2 {
		t.Fatalf("got %+v, %v", extracted, err)
	}
	in := consolidation.RelateInput{Batch: b, Candidates: extracted.Candidates}
	for name, tc := range map[string]struct {
		first, second int
		nearest       string
	}{
		"of what is found, the nearest to it": {0, formation.SharedNeighbours, "My tandem is green."},
		"where nothing is found, its own":     {formation.NoNeighbours, formation.SharedNeighbours, "My tandem is green."},
		"no more than is found":               {1, formation.SharedNeighbours, "I live in Porto."},
	} {
		in.Candidates[0].Neighbours, in.Candidates[1].Neighbours = tc.first, tc.second
		n, err := s.Relate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		nearest := ""
		if len(n.Near[1]) > 0 {
			nearest = n.Pool[n.Near[1][0].Pool].Content
		}
		if nearest != tc.nearest || tc.first >= 0 && len(n.Near[1]) != len(n.Near[0]) {
			t.Errorf("%s: nearest is %q of %+v beside %+v", name, nearest, n.Near[1], n.Near[0])
		}
		for i := 1; i < len(n.Near[1]); i++ {
			if n.Near[1][i].Similarity > n.Near[1][i-1].Similarity {
				t.Errorf("%s: %+v are not in order", name, n.Near[1])
			}
		}
	}
}

func TestRetract(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	entry := s.list(t)[0]
	if err := s.Window.Append(t.Context(), owner, turnsOf(batchOf(1, "I live in Porto."))); err != nil {
		t.Fatal(err)
	}
	s.announced.changes = nil
	in := consolidation.RetractInput{
		Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: entry.ID}, Now: start.Add(time.Hour),
	}
	for range 2 {
		if err := s.Retract(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		in.Now = in.Now.Add(time.Hour)
	}
	got, err := s.Bank.Get(t.Context(), owner, entry.ID)
	if err != nil || got.Status != memory.StatusRetracted || !got.ValidTo.Equal(entry.ValidFrom) {
		t.Errorf("the entry is %+v, %v", got, err)
	}
	first := memory.Change{}
	if len(s.announced.changes) > 0 {
		first = s.announced.changes[0]
	}
	if len(s.announced.changes) != 2 || !reflect.DeepEqual(first, s.announced.changes[1]) ||
		first.Kind != memory.OpDelete ||
		first.MemoryID != entry.ID {
		t.Errorf("announced %+v, want the same change each time", s.announced.changes)
	}
	if left, err := s.Window.Recent(t.Context(), owner, time.Time{}); err != nil || len(left) != 0 {
		t.Errorf("the window still shows %v, %v", left, err)
	}
	in.MemoryID = memory.DeriveID(owner, []string{"nothing"}, 0)
	if err := s.Retract(t.Context(), in); err != nil || len(s.announced.changes) != 2 {
		t.Errorf("an entry that is gone gives %v and announces %+v", err, s.announced.changes)
	}
}

func TestRelease(t *testing.T) {
	s := newShop(t)
	held := memory.Memory{
		ID: memory.DeriveID(owner, []string{"t1"}, 0), Content: "Ana lives in Oslo.", RecordedAt: start, ValidFrom: start,
		Sources: []string{"t1"},
		Status:  memory.StatusQuarantined, Quarantine: "order", Version: 1,
		Vector: make(memory.Vector, s.Embedder.Dimension()),
	}
	plain := held
	plain.ID, plain.Status, plain.Quarantine = memory.DeriveID(owner, []string{"t2"}, 0), memory.StatusActive, ""
	if err := s.Bank.Write(t.Context(), owner, memory.Write{Put: []memory.Memory{held, plain}}); err != nil {
		t.Fatal(err)
	}
	in := consolidation.RetractInput{
		Scope: owner, Retraction: consolidation.Retraction{ID: "r1", MemoryID: held.ID, Release: true},
		Now: start.Add(time.Hour),
	}
	for range 2 {
		if err := s.Retract(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Bank.Get(t.Context(), owner, held.ID)
	if err != nil || got.Status != memory.StatusActive || got.Quarantine != "order" {
		t.Errorf("the entry is %+v, %v", got, err)
	}
	changes := s.announced.changes
	if len(changes) != 2 || changes[0].Kind != memory.OpRelease || changes[0].MemoryID != held.ID ||
		!reflect.DeepEqual(changes[0], changes[1]) {
		t.Errorf("announced %+v, want the same release each time", changes)
	}
	in.MemoryID = plain.ID
	if err := s.Retract(t.Context(), in); err != nil || len(s.announced.changes) != 2 {
		t.Errorf("an entry that is in no quarantine gives %v and announces %+v", err, s.announced.changes)
	}
	in.MemoryID, in.Release = held.ID, false
	if err := s.Retract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Release = true
	if err := s.Retract(t.Context(), in); err == nil || !strings.Contains(err.Error(), "retracted") {
		t.Errorf("releasing what was removed gives %v", err)
	}
}

func TestDeadLettersAreHandedOn(t *testing.T) {
	s := newShop(t)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(s.DeadLetter)
	b := batchOf(1, "I live in Porto.")
	if _, err := env.ExecuteActivity(s.DeadLetter,
		consolidation.DeadLetterInput{Batch: b, Reason: "why", Now: start}); err != nil {
		t.Fatal(err)
	}
	if len(s.announced.deadLetters) != 1 || !reflect.DeepEqual(s.announced.deadLetters[0], b) {
		t.Errorf("handed on %+v", s.announced.deadLetters)
	}
	s.announced.err = errors.New("brokers are unavailable")
	if _, err := env.ExecuteActivity(s.DeadLetter,
		consolidation.DeadLetterInput{Batch: b, Reason: "why", Now: start}); err == nil {
		t.Error("a dead letter that cannot be published is no error")
	}
}

func TestFailuresThatNoRetryRepairsAreLoggedAsWarnings(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	entry := s.list(t)[0]
	w := memory.Write{Close: []memory.Closing{{ID: entry.ID, Status: memory.StatusSuperseded, ValidTo: start,
		OperationID: "op1"}}}
	if err := s.Bank.Write(t.Context(), owner, w); err != nil {
		t.Fatal(err)
	}
	s.announced.err = errors.New("brokers are unavailable")
	var out bytes.Buffer
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(consolidation.ClientOptions(client.Options{
		Logger: log.With(log.NewStructuredLogger(slog.New(slog.NewTextHandler(&out, nil))), "service", "booster"),
	}).Logger)
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(s.Retract)
	env.RegisterActivity(s.DeadLetter)
	for _, c := range []struct {
		activity, in any
		want         []string
	}{
		{
			s.Retract, consolidation.RetractInput{Scope: owner,
				Retraction: consolidation.Retraction{ID: "d1", MemoryID: entry.ID}, Now: start},
			[]string{"level=WARN", "the memory is superseded", "service=booster"},
		},
		{
			s.DeadLetter, consolidation.DeadLetterInput{Batch: batchOf(1, "I live in Porto."), Reason: "why", Now: start},
			[]string{"level=ERROR", "brokers are unavailable", "service=booster"},
		},
	} {
		out.Reset()
		if _, err := env.ExecuteActivity(c.activity, c.in); err == nil {
			t.Error("it does not fail")
		}
		lines := strings.Split(out.String(), "\n")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Activity error.") })
		for _, want := range c.want {
			if i < 0 || !strings.Contains(lines[i], want) {
				t.Errorf("logged %s, want %s", out.String(), want)
			}
		}
	}
}

// brokenBank fails with err.
type brokenBank struct {
	bank.Bank
	err error
}

func (b brokenBank) Turns(context.Context, memory.Scope, []string) ([]memory.Turn, error) {
	return nil, b.err
}

func TestHowTemporalSeesFailures(t *testing.T) {
	terminal := fault.Terminal("put.vector", "has 3 dimensions")
	tests := []struct {
		name, kind     string
		err            error
		nonRetryable   bool
		notApplication bool
	}{
		{"what is terminal is never tried again", "terminal", terminal, true, false},
		{"nor is another embedding", "terminal", fmt.Errorf("search: %w", bank.ErrEmbeddingMismatch), true, false},
		{"so has one that is too long", "too_long", fmt.Errorf("ask: %w", llm.ErrTruncated), true, false},
		{"an unusable answer has its own type", "malformed", fmt.Errorf("ask: %w", fault.ErrUnusableAnswer), false, false},
		{"who is to come later has its own type", "later", fmt.Errorf("ask: %w", &fault.LaterError{After: time.Minute}),
			false, false},
		{"an outage is tried again", "", errors.New("store is unavailable"), false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t)
			s.Bank = brokenBank{s.Bank, tt.err}
			_, relateErr := s.Relate(t.Context(), consolidation.RelateInput{Batch: batchOf(1, "I live in Porto.")})
			s.Formers = func(string, string) (formation.Former, error) { return nil, tt.err }
			_, extractErr := s.Extract(t.Context(), batchOf(1, "I live in Porto."))
			_, decideErr := s.Decide(t.Context(), consolidation.DecideInput{Batch: batchOf(1, "I live in Porto.")})
			for step, err := range map[string]error{"Relate": relateErr, "Extract": extractErr, "Decide": decideErr} {
				var app *temporal.ApplicationError
				if is := errors.As(err, &app); is == tt.notApplication {
					t.Fatalf("%s gives %v", step, err)
				} else if is && (app.Type() != tt.kind || app.NonRetryable() != tt.nonRetryable) {
					t.Errorf("%s gives type %s, non-retryable %t", step, app.Type(), app.NonRetryable())
				} else if is && (app.NextRetryDelay() == time.Minute) != (tt.kind == "later") {
					t.Errorf("%s comes again after %s", step, app.NextRetryDelay())
				}
			}
		})
	}
}

// TestAModelsAnswers runs the llm policy against a scripted model server.
func TestAModelsAnswers(t *testing.T) {
	tests := []struct {
		name, kind string
		step       llmtest.Step
	}{
		{"that are cut off are too long", "too_long", llmtest.Truncated()},
		{"that refuse are too long, too: asked about less, it may not", "too_long", llmtest.Refusal()},
		{"of no text are malformed", "malformed", llmtest.EmptyText()},
		{"in prose around JSON are taken", "", llmtest.Prose()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := llmtest.New(t)
			former, err := salimory.NewLLM(server.Client(t), formationllm.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			s := newShop(t)
			s.Formers = func(string, string) (formation.Former, error) { return former, nil }
			server.Script(llm.RoleExtractor, tt.step, tt.step, tt.step, tt.step)
			got, err := s.Extract(t.Context(), batchOf(1, "I live in Porto."))
			var app *temporal.ApplicationError
			if errors.As(err, &app) != (tt.kind != "") || (app != nil && app.Type() != tt.kind) {
				t.Fatalf("got %+v, %v, want type %q", got, err, tt.kind)
			}
			if tt.kind == "" && (len(got.Candidates) != 1 || !strings.Contains(got.Candidates[0].Content, "Porto") ||
				len(got.Candidates[0].Vector) != builtin.Dimension) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The next decision sees only consolidated turns, even if the window has others.
func TestTheWindowShowsWhatWasConsolidated(t *testing.T) {
	s := newShop(t)
	done, given := batchOf(1, "I live in Porto."), batchOf(2, "I cannot be understood.")
	s.consolidate(t, done, start)
	for _, b := range []consolidation.Batch{done, given} {
		if err := s.Window.Append(t.Context(), owner, turnsOf(b)); err != nil {
			t.Fatal(err)
		}
	}
	near, err := s.Relate(t.Context(), consolidation.RelateInput{Batch: batchOf(3, "I am a nurse.")})
	if err != nil || len(near.Window) != 1 || near.Window[0].ID != done.Turns[0].ID {
		t.Errorf("the window shows %+v, %v, want the turn that was consolidated", near.Window, err)
	}
}

// A deletion also removes the entry from the core block, and keeps the other lines.
func TestRetractCutsTheCoreBlock(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	entry := s.list(t)[0]
	part := entry.Speaker + ": in Porto " + entry.ValidFrom.Format("(2006-01-02)")
	block := memory.Core{
		Content: "ana/residence: " + entry.Content + "\n" + part + "\nAna is a nurse.", Version: 3, UpdatedAt: start,
		Sources: []string{"s1:0"}, PolicyVersion: "p/1",
	}
	if err := s.Bank.Write(t.Context(), owner, memory.Write{Core: &block}); err != nil {
		t.Fatal(err)
	}
	in := consolidation.RetractInput{
		Scope: owner, Retraction: consolidation.Retraction{ID: "d1", MemoryID: entry.ID, Strategy: "membuilder"},
		Now: start.Add(time.Hour),
	}
	for range 2 {
		if err := s.Retract(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Bank.Core(t.Context(), owner); err != nil || got.Content != "Ana is a nurse." || got.Version != 4 {
		t.Errorf("the block is %+v, %v", got, err)
	}
}
