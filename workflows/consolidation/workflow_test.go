package consolidation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// steps records the calls from a workflow to its activities.
type steps struct {
	mu          sync.Mutex
	applied     []consolidation.ApplyInput
	deadLetters []consolidation.DeadLetterInput
	retract     []string
	expired     []consolidation.ExpireTalkInput
	edits       []consolidation.EditInput
	// failExtract has the errors of Extract by session, one per call. alwaysFail has errors for every call.
	failExtract map[string][]error
	// failDecide has the errors of Decide, one per call. extracted counts the requests to Extract.
	failDecide  []error
	extracted   int
	alwaysFail  func() error
	failRetract error
	failEdit    error
	// written means that edits were written before.
	written bool
	// reused is turns whose id belonged to another turn.
	reused []string
}

func (s *steps) Extract(_ context.Context, b consolidation.Batch) (consolidation.Extracted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extracted++
	if s.alwaysFail != nil {
		return consolidation.Extracted{}, s.alwaysFail()
	}
	if errs := s.failExtract[b.SessionID]; len(errs) > 0 {
		s.failExtract[b.SessionID] = errs[1:]
		return consolidation.Extracted{}, errs[0]
	}
	out := consolidation.Extracted{Known: s.reused, Reused: s.reused}
	for _, t := range b.Turns {
		out.Candidates = append(out.Candidates, formation.Candidate{Content: t.Text, Sources: []string{t.ID}})
	}
	return out, nil
}

func (s *steps) Relate(_ context.Context, in consolidation.RelateInput) (consolidation.Neighbourhood, error) {
	return consolidation.Neighbourhood{Candidates: in.Candidates}, nil
}

func (s *steps) Decide(_ context.Context, in consolidation.DecideInput) (consolidation.Decided, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d consolidation.Decided
	if len(s.failDecide) > 0 {
		err := s.failDecide[0]
		s.failDecide = s.failDecide[1:]
		return d, err
	}
	for i, c := range in.Neighbourhood.Candidates {
		id := memory.DeriveID(in.Batch.Scope, c.Sources, i)
		d.Write.Put = append(d.Write.Put, memory.Memory{ID: id, Content: c.Content, Sources: c.Sources})
	}
	return d, nil
}

func (s *steps) Apply(_ context.Context, in consolidation.ApplyInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied = append(s.applied, in)
	return nil
}

func (s *steps) DeadLetter(_ context.Context, in consolidation.DeadLetterInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadLetters = append(s.deadLetters, in)
	return nil
}

func (s *steps) Retract(_ context.Context, in consolidation.RetractInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retract = append(s.retract, in.MemoryID)
	return s.failRetract
}

func (s *steps) ExpireTalk(_ context.Context, in consolidation.ExpireTalkInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = append(s.expired, in)
	return nil
}

func (s *steps) Edit(_ context.Context, in consolidation.EditInput) (consolidation.Decided, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits = append(s.edits, in)
	if s.failEdit != nil || s.written {
		return consolidation.Decided{}, s.failEdit
	}
	return consolidation.Decided{Write: memory.Write{Put: []memory.Memory{{ID: in.EntryID(in.Scope),
		Content: in.Turn.Text}}}}, nil
}

// turnsOf returns the ids of the applied turns, one list per consolidation.
func (s *steps) turnsOf() [][]string {
	var out [][]string
	for _, a := range s.applied {
		ids := []string{}
		for _, t := range a.Batch.Turns {
			ids = append(ids, t.ID)
		}
		out = append(out, ids)
	}
	return out
}

func newRun(t *testing.T) (*testsuite.TestWorkflowEnvironment, *steps) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartTime(start)
	env.SetTestTimeout(time.Minute)
	observer, err := consolidation.NewObserver(tracenoop.NewTracerProvider().Tracer(""),
		metricnoop.NewMeterProvider().Meter(""))
	if err != nil {
		t.Fatal(err)
	}
	env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Minute,                               // a busy machine is no deadlock
		Interceptors:             []interceptor.WorkerInterceptor{observer}, // long activities report heartbeats
	})
	s := &steps{failExtract: map[string][]error{}}
	env.RegisterWorkflowWithOptions(consolidation.Workflow, workflow.RegisterOptions{Name: consolidation.WorkflowName})
	for name, f := range map[string]any{
		"Extract": s.Extract, "Relate": s.Relate, "Decide": s.Decide, "Apply": s.Apply, "DeadLetter": s.DeadLetter,
		"Retract": s.Retract,
		"Edit":    s.Edit, "ExpireTalk": s.ExpireTalk,
	} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	return env, s
}

func params() consolidation.Params {
	return consolidation.Params{
		Scope: memory.Scope{Tenant: "acme", User: "ana"}, Strategy: "salimory", Policy: "embedded",
		Tuning: consolidation.Tuning{MaxTurns: 4, Idle: 10 * time.Minute, Linger: 5 * time.Second, MalformedAttempts: 3},
	}
}

func turn(session string, n int) consolidation.Event {
	id := fmt.Sprintf("%s:%d", session, n)
	return consolidation.Event{ID: "e-" + id, SessionID: session, Turn: &memory.Turn{
		ID: id, SessionID: session, Speaker: "Ana", Role: memory.RoleUser, Text: "says " + id,
		Time: start.Add(time.Duration(n) * time.Second),
	}}
}

func closed(session string) consolidation.Event {
	return consolidation.Event{ID: "close-" + session, SessionID: session, ClosedAt: start.Add(time.Hour)}
}

// signals sends each list of events as one signal, a second apart.
func signals(env *testsuite.TestWorkflowEnvironment, lists ...[]consolidation.Event) {
	for i, events := range lists {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(consolidation.SignalEvents, consolidation.Signal{Events: events})
		}, time.Duration(i)*time.Second)
	}
}

func finish(t *testing.T, env *testsuite.TestWorkflowEnvironment, p consolidation.Params) {
	t.Helper()
	env.ExecuteWorkflow(consolidation.WorkflowName, p)
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow did not complete")
	}
	if err := env.GetWorkflowError(); err != nil {
		t.Fatalf("workflow: %v", err)
	}
}

func TestClosedSessionIsConsolidatedAtOnce(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), closed("s1")})
	began := env.Now()
	finish(t, env, params())
	if got := s.turnsOf(); len(got) != 1 || !slices.Equal(got[0], []string{"s1:1", "s1:2"}) {
		t.Fatalf("consolidated %v, want one batch of both turns", got)
	}
	if !s.applied[0].Batch.Closes {
		t.Error("the batch does not close its session")
	}
	if waited := env.Now().Sub(began); waited > time.Minute {
		t.Errorf("the workflow took %s of its own time: it waited for idleness", waited)
	}
}

func TestOpenSessionIsConsolidatedWhenIdle(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{turn("s1", 1)})
	finish(t, env, params())
	if len(s.applied) != 1 || s.applied[0].Batch.Closes {
		t.Fatalf("applied %d batches, closing %v; want one that does not close", len(s.applied), s.applied)
	}
}

func TestManyTurnsAreConsolidatedInChunks(t *testing.T) {
	env, s := newRun(t)
	var events []consolidation.Event
	for n := 1; n <= 10; n++ {
		events = append(events, turn("s1", n))
	}
	signals(env, append(events, closed("s1")))
	finish(t, env, params())
	got := s.turnsOf()
	if len(got) != 3 || len(got[0]) != 4 || len(got[1]) != 4 || len(got[2]) != 2 {
		t.Fatalf("consolidated %v, want chunks of 4, 4 and 2", got)
	}
	if s.applied[0].Batch.Closes || s.applied[1].Batch.Closes || !s.applied[2].Batch.Closes {
		t.Error("only the last chunk closes the session")
	}
}

func TestRepeatedEventsHaveNoEffect(t *testing.T) {
	env, s := newRun(t)
	session := []consolidation.Event{turn("s1", 1), turn("s1", 1), turn("s1", 2), closed("s1")}
	otherEvent := turn("s1", 2)
	otherEvent.ID = "another event, the same turn"
	signals(env, append([]consolidation.Event{otherEvent}, session...), session, session)
	finish(t, env, params())
	if got := s.turnsOf(); len(got) != 1 || len(got[0]) != 2 {
		t.Fatalf("consolidated %v, want one batch of two turns", got)
	}
}

func TestTurnsAreInOrderOfTime(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{turn("s1", 3), turn("s1", 1), turn("s1", 2), closed("s1")})
	finish(t, env, params())
	if got := s.turnsOf(); !slices.Equal(got[0], []string{"s1:1", "s1:2", "s1:3"}) {
		t.Fatalf("consolidated %v, want ascending times", got)
	}
}

func TestSessionsAreConsolidatedInTheOrderTheyEnd(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{turn("a", 1), turn("b", 1), closed("b"), closed("a")})
	finish(t, env, params())
	if s.applied[0].Batch.SessionID != "b" || s.applied[1].Batch.SessionID != "a" {
		t.Fatalf("order %s, %s; want b, a", s.applied[0].Batch.SessionID, s.applied[1].Batch.SessionID)
	}
}

func TestEmptySessionIsStillRecorded(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{closed("s1")})
	finish(t, env, params())
	if len(s.applied) != 1 || !s.applied[0].Batch.Closes || len(s.applied[0].Batch.Turns) != 0 {
		t.Fatalf("applied %+v, want one empty batch that closes", s.applied)
	}
}

func TestOutageIsRetriedUntilItEnds(t *testing.T) {
	env, s := newRun(t)
	for range 9 { // the test environment, unlike a server, gives up after ten attempts
		s.failExtract["s1"] = append(s.failExtract["s1"], errors.New("connection refused"))
	}
	signals(env, []consolidation.Event{turn("s1", 1), closed("s1")})
	finish(t, env, params())
	if len(s.applied) != 1 || len(s.deadLetters) != 0 {
		t.Fatalf("applied %d, dead letters %+v; want 1 and none", len(s.applied), s.deadLetters)
	}
}

func TestUnusableAnswers(t *testing.T) {
	malformed := temporal.NewApplicationError("not JSON", "malformed")
	for name, tc := range map[string]struct {
		failures, deadLetters int
	}{
		"a few are tried again":      {failures: 2, deadLetters: 0},
		"too many are a dead letter": {failures: 3, deadLetters: 1},
	} {
		t.Run(name, func(t *testing.T) {
			env, s := newRun(t)
			for range tc.failures {
				s.failExtract["bad"] = append(s.failExtract["bad"], malformed)
			}
			signals(env, []consolidation.Event{turn("bad", 1), closed("bad"), turn("good", 1), closed("good")})
			finish(t, env, params())
			if len(s.deadLetters) != tc.deadLetters {
				t.Fatalf("%d dead letters, want %d", len(s.deadLetters), tc.deadLetters)
			}
			last := s.applied[len(s.applied)-1]
			if last.Batch.SessionID != "good" {
				t.Errorf("the session after the bad one was not consolidated")
			}
			if tc.deadLetters == 1 && (s.deadLetters[0].Reason != "not JSON" || s.deadLetters[0].Batch.Turns[0].EventID == "") {
				t.Errorf("dead letter %+v, want the reason and the event", s.deadLetters[0])
			}
		})
	}
}

// The workflow repeats an unusable decision with the same extracted content. A run that began to extract again
// continues to do so.
func TestWhatWasExtractedIsKeptUntilItIsDecidedOn(t *testing.T) {
	for want, version := range map[int]workflow.Version{1: 1, 3: workflow.DefaultVersion} {
		env, s := newRun(t)
		env.OnGetVersion("keep-extracted", workflow.DefaultVersion, workflow.Version(1)).Return(version)
		s.failDecide = slices.Repeat([]error{temporal.NewApplicationError("not JSON", "malformed")}, 2)
		signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2), closed("s1")})
		finish(t, env, params())
		if s.extracted != want || len(s.applied) != 1 || len(s.deadLetters) != 0 {
			t.Errorf("version %d: extracted %d times, applied %d, dead letters %d; want %d, 1, 0",
				version, s.extracted, len(s.applied), len(s.deadLetters), want)
		}
	}
}

func TestTerminalFailureIsADeadLetterAndCanBeReplayed(t *testing.T) {
	env, s := newRun(t)
	s.failExtract["s1"] = []error{temporal.NewNonRetryableApplicationError("strategy: is unknown", "terminal", nil)}
	session := []consolidation.Event{turn("s1", 1), closed("s1")}
	signals(env, session, []consolidation.Event{turn("s1", 1)}) // the second is the replayed dead letter
	finish(t, env, params())
	if len(s.deadLetters) != 1 || s.deadLetters[0].Batch.ClosedAt.IsZero() {
		t.Fatalf("dead letters %+v, want one that says when the session ended", s.deadLetters)
	}
	if got := s.turnsOf(); len(got) != 1 || !slices.Equal(got[0], []string{"s1:1"}) {
		t.Fatalf("after the replay consolidated %v, want the turn", got)
	}
}

// ask requests retractions, a second apart, and returns their results.
func ask(t *testing.T, env *testsuite.TestWorkflowEnvironment, memoryIDs ...string) map[string]error {
	t.Helper()
	ends := map[string]error{}
	for i, id := range memoryIDs {
		in := consolidation.Retraction{ID: "r-" + id, MemoryID: id, Strategy: "rmm"}
		request(t, env, time.Duration(i)*time.Second, consolidation.UpdateRetract, in.ID, in, func(err error) {
			ends[id] = err
		})
	}
	return ends
}

// request sends a request to the writer after a while, and passes its result on.
func request(
	t *testing.T, env *testsuite.TestWorkflowEnvironment, after time.Duration, name, id string, in any, ended func(error),
) {
	t.Helper()
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
			OnReject:   func(err error) { t.Errorf("rejected: %v", err) },
			OnAccept:   func() {},
			OnComplete: func(_ any, err error) { ended(err) },
		}, in)
	}, after)
}

// A dead letter with a reused id may be replayed, or come again with its session, and becomes a dead letter again.
// The other turns of its session are formed, and the session ends.
func TestAReusedTurnIDIsADeadLetterAgain(t *testing.T) {
	env, s := newRun(t)
	s.reused = []string{"s1:1"}
	letter := consolidation.Batch{Scope: params().Scope, SessionID: "s1",
		Turns: []consolidation.Turn{{Turn: *turn("s1", 1).Turn}}}
	end := consolidation.Event{ID: letter.CloseID(), SessionID: "s1", ClosedAt: start.Add(time.Hour)}
	session := []consolidation.Event{turn("s1", 1), turn("s1", 2), closed("s1")}
	signals(env, session, []consolidation.Event{turn("s1", 1), end}, session)
	began := env.Now()
	finish(t, env, params())
	if waited := env.Now().Sub(began); waited > time.Minute {
		t.Errorf("the workflow took %s of its own time: what came again waited for idleness", waited)
	}
	if got := s.turnsOf(); len(got) != 3 || !slices.Equal(got[0], []string{"s1:2"}) || len(got[1])+len(got[2]) != 0 {
		t.Errorf("consolidated %v, want the second turn alone", got)
	}
	if len(s.deadLetters) != 3 {
		t.Fatalf("%d dead letters, want one for each time", len(s.deadLetters))
	}
	for _, l := range s.deadLetters {
		if len(l.Batch.Turns) != 1 || l.Batch.Turns[0].ID != "s1:1" || l.Batch.CloseID() != end.ID ||
			l.Batch.ClosedAt.IsZero() ||
			!strings.Contains(l.Reason, "turn_id") {
			t.Errorf("the dead letter is %+v", l)
		}
	}
}

func TestRetractionIsDoneByTheWriter(t *testing.T) {
	env, s := newRun(t)
	signals(env, []consolidation.Event{turn("s1", 1)})
	ends := ask(t, env, "m1", "m2")
	finish(t, env, params())
	if !slices.Equal(s.retract, []string{"m1", "m2"}) {
		t.Fatalf("retracted %v, want m1 and m2 once each", s.retract)
	}
	if err, ok := ends["m1"]; !ok || err != nil || len(ends) != 2 || ends["m2"] != nil {
		t.Errorf("the requests ended with %v", ends)
	}
}

func TestARetractionThatFailsForGoodSaysSo(t *testing.T) {
	env, s := newRun(t)
	s.failRetract = temporal.NewNonRetryableApplicationError("embedding mismatch", "terminal", nil)
	ends := ask(t, env, "m1")
	finish(t, env, params())
	var refused *temporal.ApplicationError
	if !errors.As(ends["m1"], &refused) || refused.Message() != "embedding mismatch" {
		t.Errorf("the request ended with %v, want the reason", ends["m1"])
	}
}

func TestARunThatMustContinueAnswersFirst(t *testing.T) {
	env, _ := newRun(t)
	ends := ask(t, env, "m1")
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 0)
	env.ExecuteWorkflow(consolidation.WorkflowName, params())
	var again *workflow.ContinueAsNewError
	if err, ok := ends["m1"]; !ok || err != nil || !errors.As(env.GetWorkflowError(), &again) {
		t.Errorf("the request ended with %v, %t, the run with %v", err, ok, env.GetWorkflowError())
	}
}

// The workflow does not retry a bug for ever. For a failure that looks like an outage, the test environment stops
// after ten attempts. A server stops after the time that TestActivitiesAreTriedForADay wants.
func TestAnErrorThatDoesNotEndIsADeadLetter(t *testing.T) {
	for name, tc := range map[string]struct {
		failure func() error
		atLeast time.Duration
	}{
		"unknown": {func() error { return errors.New("assignment to entry in nil map") }, 45 * time.Second},
		"panic":   {func() error { panic("index out of range") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			env, s := newRun(t)
			s.alwaysFail = tc.failure
			signals(env, []consolidation.Event{turn("s1", 1), closed("s1")})
			began := env.Now()
			finish(t, env, params())
			took := env.Now().Sub(began)
			if len(s.deadLetters) != 1 || took < tc.atLeast || took > tc.atLeast+time.Hour {
				t.Errorf("%d dead letters after %s", len(s.deadLetters), took)
			}
		})
	}
}

// A late turn precedes other turns in time, and keeps its event.
func TestADeadLetterHasTheEventsOfItsTurns(t *testing.T) {
	env, s := newRun(t)
	s.failExtract["s1"] = []error{temporal.NewNonRetryableApplicationError("no such strategy", "terminal", nil)}
	signals(env, []consolidation.Event{turn("s1", 2), turn("s1", 3), turn("s1", 1), closed("s1")})
	finish(t, env, params())
	if len(s.deadLetters) != 1 || len(s.deadLetters[0].Batch.Turns) != 3 {
		t.Fatalf("dead letters %+v", s.deadLetters)
	}
	for i, turn := range s.deadLetters[0].Batch.Turns {
		if turn.ID != fmt.Sprintf("s1:%d", i+1) || turn.EventID != "e-"+turn.ID {
			t.Errorf("turn %d is %s of event %s", i, turn.ID, turn.EventID)
		}
	}
}

func TestContinueAsNewCarriesWhatWaits(t *testing.T) {
	env, _ := newRun(t)
	env.SetContinueAsNewSuggested(true)
	signals(env, []consolidation.Event{turn("s1", 1), turn("s1", 2)})
	env.ExecuteWorkflow(consolidation.WorkflowName, params())
	var again *workflow.ContinueAsNewError
	if !errors.As(env.GetWorkflowError(), &again) {
		t.Fatalf("ended with %v, want continue-as-new", env.GetWorkflowError())
	}
}

func TestStateCanBeQueried(t *testing.T) {
	env, _ := newRun(t)
	signals(env, []consolidation.Event{turn("s1", 1)})
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(consolidation.QueryState)
		if err != nil {
			t.Errorf("query: %v", err)
			return
		}
		var state consolidation.State
		if err := value.Get(&state); err != nil || len(state.Open) != 1 {
			t.Errorf("state %+v, error %v; want one open session", state, err)
		}
	}, time.Minute)
	finish(t, env, params())
}

// waiting asks the workflow whether turns of a session wait.
func waiting(t *testing.T, env *testsuite.TestWorkflowEnvironment, session string) (waits bool) {
	t.Helper()
	value, err := env.QueryWorkflow(consolidation.QueryWaiting, session)
	if err != nil {
		t.Errorf("query: %v", err)
		return false
	}
	if err := value.Get(&waits); err != nil {
		t.Error(err)
	}
	return waits
}

// A turn waits from the arrival of its signal until it is consolidated or a dead letter.
func TestItCanBeAskedWhetherTurnsWait(t *testing.T) {
	env, s := newRun(t)
	s.failExtract["bad"] = []error{temporal.NewNonRetryableApplicationError("no such strategy", "terminal", nil)}
	signals(env, []consolidation.Event{turn("s1", 1), closed("s1"), turn("bad", 1), closed("bad"), turn("open", 1)})
	seen := map[string]bool{}
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		switch {
		case seen["s1"]:
		case info.ActivityType.Name == "Extract":
			env.SignalWorkflow(consolidation.SignalEvents, consolidation.Signal{Events: []consolidation.Event{turn("later", 1)}})
		case info.ActivityType.Name == "Apply":
			seen["s1"], seen["later"] = waiting(t, env, "s1"), waiting(t, env, "later")
		}
	})
	env.RegisterDelayedCallback(func() {
		for session, want := range map[string]bool{"s1": false, "bad": false, "open": true, "none": false} {
			if got := waiting(t, env, session); got != want {
				t.Errorf("%s waits: %t", session, got)
			}
		}
	}, time.Minute)
	finish(t, env, params())
	if !seen["s1"] || !seen["later"] {
		t.Errorf("while the first is applied, and a signal has come, there wait %v", seen)
	}
}

// A model that hangs takes minutes per attempt. So the limit of an activity is a time, not a number of attempts. The
// activity that writes dead letters has no limit.
func TestActivitiesAreTriedForADay(t *testing.T) {
	env, s := newRun(t)
	s.failExtract["bad"] = []error{temporal.NewNonRetryableApplicationError("no such strategy", "terminal", nil)}
	signals(env, []consolidation.Event{turn("s1", 1), closed("s1"), turn("bad", 1), closed("bad")})
	const day = 24 * time.Hour
	var mu sync.Mutex
	bounds := map[string]time.Duration{}
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		mu.Lock()
		defer mu.Unlock()
		bounds[info.ActivityType.Name] = info.ScheduleToCloseTimeout
		if info.ActivityType.Name == "DeadLetter" && info.ScheduleToCloseTimeout > 1000*day {
			delete(bounds, "DeadLetter") // the server's value for no limit
		}
	})
	finish(t, env, params())
	want := map[string]time.Duration{"Extract": day, "Relate": day, "Decide": day, "Apply": day}
	if !maps.Equal(bounds, want) || len(s.deadLetters) != 1 {
		t.Errorf("activities may take %v, want %v", bounds, want)
	}
}
