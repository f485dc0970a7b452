package erasure_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowinmem "github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/workflows/consolidation"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ana   = memory.Scope{Tenant: "acme", User: "ana"}
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// store loses its items little by little.
type store struct {
	name     string
	has      int
	failures int
	// uncounted is how many counts fail first.
	uncounted int
	// comes holds the items that a count finds once, although the count before was empty.
	comes   []int
	asked   []erasure.Request
	erased  int
	counted int
}

func (s *store) Name() string { return s.name }

func (s *store) Erase(_ context.Context, r erasure.Request) error {
	s.asked = append(s.asked, r)
	if s.failures > 0 {
		s.failures--
		return errors.New("the store is unavailable")
	}
	s.erased++
	s.has = max(s.has-1, 0)
	return nil
}

func (s *store) Count(context.Context, erasure.Request) (int, error) {
	s.counted++
	if slices.Contains(s.comes, s.counted) {
		s.has++
	}
	if s.uncounted > 0 {
		s.uncounted--
		return 0, errors.New("the store is unavailable")
	}
	return s.has, nil
}

func newRun(t *testing.T, stores ...erasure.Store) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	env.SetStartTime(start)
	erasure.Register(env)
	env.RegisterActivity(&erasure.Activities{Stores: stores})
	return env
}

func erased(run string) consolidation.Erased {
	return consolidation.Erased{Scope: ana, RequestID: "x1", RunID: run, StartedAt: start.Add(-time.Minute)}
}

func signalAt(env *testsuite.TestWorkflowEnvironment, after time.Duration, e consolidation.Erased) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(erasure.SignalErased, e) }, after)
}

func report(t *testing.T, env *testsuite.TestWorkflowEnvironment, p erasure.Params) erasure.Report {
	t.Helper()
	env.ExecuteWorkflow(erasure.WorkflowName, p)
	var r erasure.Report
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if err := env.GetWorkflowResult(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStoresAreErasedUntilNothingIsLeft(t *testing.T) {
	slow, unavailable := &store{name: "slow", has: 4}, &store{name: "unavailable", has: 1, failures: 3}
	env := newRun(t, slow, unavailable)
	signalAt(env, 0, erased("r1"))
	got := report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if slow.has+unavailable.has != 0 || slow.erased < 4 || unavailable.erased < 1 {
		t.Errorf("left %d and %d after %d and %d erasures", slow.has, unavailable.has, slow.erased, unavailable.erased)
	}
	if got.Rounds < 2 || got.DoneAt.Before(start) {
		t.Errorf("report %+v", got)
	}
	for _, r := range unavailable.asked {
		if r.Scope != ana || r.RequestID != "x1" || r.RunID != "r1" || !r.StartedAt.Equal(start.Add(-time.Minute)) {
			t.Errorf("asked for %+v", r)
		}
	}
}

// Lists may lag. Items that appear after an empty count are erased, too.
func TestOneCountThatFindsNothingIsNotBelieved(t *testing.T) {
	late := &store{name: "late", comes: []int{2}}
	env := newRun(t, late)
	signalAt(env, 0, erased("r1"))
	if got := report(t, env, erasure.Params{Scope: ana, RequestID: "x1"}); late.has != 0 || got.Rounds != 4 {
		t.Errorf("left %d after %d rounds, want none after 4", late.has, got.Rounds)
	}
}

func TestAnErasureThatIsDeliveredAgainIsWorkedOffAgain(t *testing.T) {
	s := &store{name: "s"}
	env := newRun(t, s)
	signalAt(env, 0, erased("r1"))
	signalAt(env, 500*time.Millisecond, erased("r2"))
	report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if last := s.asked[len(s.asked)-1]; last.RunID != "r2" || s.counted < 3 {
		t.Errorf("counted %d times, at last erased for the run %s", s.counted, last.RunID)
	}
}

func TestALongErasureGoesOnInANewRun(t *testing.T) {
	s := &store{name: "s", has: 1000}
	env := newRun(t, s)
	env.SetContinueAsNewSuggested(true)
	signalAt(env, 0, erased("r1"))
	env.ExecuteWorkflow(erasure.WorkflowName, erasure.Params{Scope: ana, RequestID: "x1"})
	var again *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &again) {
		t.Fatalf("ended with %v", err)
	}
	var next erasure.Params
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	s.has = 1
	if got := report(t, newRun(t, s), next); got.Rounds <= next.Rounds || next.Rounds == 0 || next.Erased.RunID != "r1" {
		t.Errorf("went on with %+v, reported %+v", next, got)
	}
}

func TestWorkflowIDsAreShortAndApart(t *testing.T) {
	long := memory.Scope{Tenant: strings.Repeat("t", 63), User: strings.Repeat("ü/", 85)}
	seen := map[string]bool{}
	for _, scope := range []memory.Scope{ana, {Tenant: "acme", User: "ana/x"}, {Tenant: "acme-ana", User: "x"}, long} {
		for _, id := range []string{"x", "y", "x/y", strings.Repeat("y", 128)} {
			got := erasure.WorkflowID(scope, id)
			if seen[got] || len(got) > 1000 || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%q is taken, too long or not printable", got)
			}
			seen[got] = true
		}
	}
}

// deadLetters is a topic of dead letters: of two users by key, of two users by content, and without an owner.
func deadLetters(t *testing.T) (*bustest.Broker, bus.Publisher) {
	t.Helper()
	broker := bustest.StartBroker(t, 2, contract.TopicDeadLetters)
	out := broker.Publisher()
	event := func(scope memory.Scope) []byte {
		e := contract.SessionEvent{Envelope: contract.Envelope{EventID: "e", Scope: scope, SessionID: "s"}, ClosedAt: start}
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	put := func(key string, value []byte) {
		letter, err := proto.Marshal(&mnemev1.DeadLetter{SchemaVersion: 1, Id: key, Topic: contract.TopicSessionEvents,
			Key:   []byte(key),
			Value: value})
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Publish(t.Context(), bus.Message{Topic: contract.TopicDeadLetters, Key: []byte(key),
			Value: letter}); err != nil {
			t.Fatal(err)
		}
	}
	put("acme/ana", []byte("\xff"))
	put("acme/ana", event(ana))
	put("acme/anabel", event(memory.Scope{Tenant: "acme", User: "anabel"}))
	put("wrong key", event(ana))
	put("", append(event(ana), "and then nonsense \xff"...))
	put("other/ana", event(memory.Scope{Tenant: "other", User: "ana"}))
	return broker, out
}

func TestLettersAreFoundByKeyAndByWhatTheyHold(t *testing.T) {
	broker, out := deadLetters(t)
	ins, err := bus.NewInstruments(bus.Telemetry{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := erasure.NewDeadLetterStore(erasure.DeadLettersConfig{
		Join: func() (bus.Source, error) { return broker.Source(contract.GroupReplay, contract.TopicDeadLetters), nil },
		Log:  broker.Log(contract.TopicDeadLetters), Out: out, Instruments: ins,
	})
	r := erasure.Request{Scope: ana}
	for _, want := range []int{4, 0} {
		if n, err := s.Count(t.Context(), r); err != nil || n != want {
			t.Fatalf("found %d dead letters, %v, want %d", n, err, want)
		}
		if err := s.Erase(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []memory.Scope{{Tenant: "acme", User: "anabel"}, {Tenant: "other", User: "ana"}} {
		if n, err := s.Count(t.Context(), erasure.Request{Scope: other}); err != nil || n != 1 {
			t.Errorf("%v has %d dead letters, %v, want 1", other, n, err)
		}
	}
}

func TestAScanNamesEveryStore(t *testing.T) {
	w, err := windowinmem.New(window.Limits{Words: 100, Age: time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	scanner := erasure.Scanner{Bank: bankinmem.New(2), Window: w, Stores: []erasure.Store{&store{name: "traces", has: 7}}}
	write := memory.Write{Turns: []memory.Turn{{ID: "t1"}, {ID: "t2"}}, Core: &memory.Core{Content: "x", Version: 1},
		Session: &memory.SessionRecord{SessionID: "s"}}
	if err := errors.Join(scanner.Bank.Write(t.Context(), ana, write), w.Retire(t.Context(), ana, []string{"t1"}),
		scanner.Bank.WriteDropped(t.Context(), ana, []memory.Dropped{{TurnID: "t3"}})); err != nil {
		t.Fatal(err)
	}
	got, err := scanner.Scan(t.Context(), ana)
	want := []erasure.Count{
		{Store: "memories"}, {Store: "turns", Count: 2}, {Store: "sessions", Count: 1}, {Store: "core block", Count: 1},
		{Store: "dropped turns", Count: 1}, {Store: "window turns"}, {Store: "window retired ids", Count: 1},
		{Store: "traces", Count: 7},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
