package distributed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	"github.com/mneme-memory/mneme/lab/checkpoint/inmem"
	"github.com/mneme-memory/mneme/lab/distributed"
	"github.com/mneme-memory/mneme/shared/fault"
)

// TestMain ignores two goroutines of the SDK's test environment. They stay when a workflow is cancelled before its
// activity begins.
func TestMain(m *testing.M) {
	const environment = "go.temporal.io/sdk/internal.(*testWorkflowEnvironmentImpl)."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(environment+"ExecuteActivity.func2"),
		goleak.IgnoreAnyFunction(environment+"ExecuteActivity.func3"))
}

// sums learns a log of its steps: for each update, the people and the state of their rollouts.
type sums struct {
	// together is the number of people of an update, all the number of all people.
	together, all int

	mu sync.Mutex
	// failures is the number of failures of each step in fails before it succeeds.
	failures map[string]int
	fails    error
	rolled   int
}

func (s *sums) fail(step string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures[step] == 0 {
		return nil
	}
	s.failures[step]--
	return s.fails
}

func (s *sums) Start(options []byte) ([]byte, error) {
	if string(options) == "bad" {
		return nil, fault.Terminal("persons", "is 0, want 1 or more")
	}
	return []byte("begin"), s.fail("start")
}

func (s *sums) Next(_, state []byte) (people []int, err error) {
	done := bytes.Count(state, []byte(":"))
	for i := done; i < min(done+s.together, s.all); i++ {
		people = append(people, i)
	}
	return people, s.fail("next")
}

func (s *sums) Roll(_ context.Context, options, state []byte, person int) ([]byte, error) {
	s.mu.Lock()
	s.rolled++
	s.mu.Unlock()
	return fmt.Appendf(nil, "%d:%s%d", person, options, len(state)), s.fail(fmt.Sprint("roll ", person))
}

func (s *sums) Learn(_, state []byte, rolled iter.Seq2[[]byte, error]) ([]byte, error) {
	var all [][]byte
	for one, err := range rolled {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return append(append(bytes.Clone(state), '|'), bytes.Join(all, []byte(","))...), s.fail("learn")
}

// alone returns the last state of a training in one process.
func (s *sums) alone(t *testing.T, options string) string {
	t.Helper()
	twin := &sums{together: s.together, all: s.all}
	state, err := twin.Start([]byte(options))
	if err != nil {
		t.Fatal(err)
	}
	for {
		people, _ := twin.Next(nil, state)
		if len(people) == 0 {
			return string(state)
		}
		before := state
		state, _ = twin.Learn(nil, state, func(yield func([]byte, error) bool) {
			for _, p := range people {
				if !yield(twin.Roll(t.Context(), []byte(options), before, p)) {
					return
				}
			}
		})
	}
}

// watched is a store that tracks its contents, and may lose them or fail.
type watched struct {
	checkpoint.Store
	mu   sync.Mutex
	keys map[string]bool
	runs map[string]bool
	// loses names keys that the store forgets right after a write. away is the number of failing calls.
	loses string
	away  int
}

func newStore(t *testing.T) *watched {
	t.Helper()
	s, err := inmem.New(time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &watched{Store: s, keys: map[string]bool{}, runs: map[string]bool{}}
}

func (w *watched) Put(ctx context.Context, run, key string, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away--; w.away >= 0 {
		return errors.New("the store is unavailable")
	}
	w.runs[run] = true
	if w.loses != "" && strings.HasPrefix(key, w.loses) {
		return nil
	}
	w.keys[key] = true
	return w.Store.Put(ctx, run, key, body)
}

func (w *watched) Delete(ctx context.Context, run string, keys ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		delete(w.keys, key)
	}
	return w.Store.Delete(ctx, run, keys...)
}

func (w *watched) DeleteRun(ctx context.Context, run string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.keys)
	return w.Store.DeleteRun(ctx, run)
}

func (w *watched) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

func newRun(t *testing.T, trainer distributed.Trainer, store checkpoint.Store) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	env.SetTestTimeout(time.Minute)
	distributed.Register(env)
	env.RegisterActivity(&distributed.Activities{Trainer: trainer, Store: store})
	return env
}

func wantState(t *testing.T, env *testsuite.TestWorkflowEnvironment, store checkpoint.Store, want string) {
	t.Helper()
	var r distributed.Result
	if err := env.GetWorkflowResult(&r); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get(t.Context(), r.Run, r.State); err != nil || string(got) != want {
		t.Errorf("ended with %q, %v, want %q", got, err, want)
	}
}

func TestATrainingEndsAsOneProcessWould(t *testing.T) {
	for name, s := range map[string]*sums{
		"one at a time": {together: 1, all: 3}, "some at a time": {together: 2, all: 5},
		"more than wait at a time": {together: 700, all: 701},
		"nobody":                   {together: 1},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			env := newRun(t, s, store)
			env.ExecuteWorkflow(distributed.WorkflowName, distributed.Params{Options: []byte("o")})
			wantState(t, env, store, s.alone(t, "o"))
			if n := store.count(); n != 2 {
				t.Errorf("the store holds %v, want the options and the last state", store.keys)
			}
		})
	}
}

func TestWhatFailsForAWhileIsTriedAgain(t *testing.T) {
	s := &sums{together: 2, all: 4, fails: errors.New("for a while"), failures: map[string]int{
		"start": 1, "next": 2, "roll 1": 3, "roll 2": 1, "learn": 2,
	}}
	store := newStore(t)
	store.away = 4
	env := newRun(t, s, store)
	env.ExecuteWorkflow(distributed.WorkflowName, distributed.Params{Options: []byte("o")})
	wantState(t, env, store, s.alone(t, "o"))
}

// An attempt that stored its result and could not report it does not run again.
func TestWhatIsKeptIsNotMadeAgain(t *testing.T) {
	s := &sums{together: 1, all: 2}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	a := &distributed.Activities{Trainer: s, Store: newStore(t)}
	env.RegisterActivity(a)
	do := func(step any, in any) {
		t.Helper()
		for range 2 {
			if _, err := env.ExecuteActivity(step, in); err != nil {
				t.Fatal(err)
			}
		}
	}
	step := distributed.Step{Run: "r", People: []int{0}}
	do(a.Begin, distributed.BeginInput{Run: "r", Options: []byte("o")})
	do(a.Roll, step)
	if s.rolled != 1 {
		t.Errorf("%d rollouts were made", s.rolled)
	}
	for range 2 {
		value, err := env.ExecuteActivity(a.Learn, step)
		var people []int
		if err == nil {
			err = value.Get(&people)
		}
		if err != nil || !reflect.DeepEqual(people, []int{1}) {
			t.Errorf("next are %v, %v", people, err)
		}
		s.fails, s.failures = fault.Terminal("", "learned twice"), map[string]int{"learn": 1}
	}
	do(a.Forget, step)
	do(a.ForgetRun, "r")
}

func TestWhatNoRetryRepairsEndsTheTraining(t *testing.T) {
	terminal := fault.Terminal("state", "is no state")
	for name, c := range map[string]struct {
		trainer *sums
		options string
		loses   string
		want    string
	}{
		"options": {&sums{together: 1, all: 1}, "bad", "", "persons: is 0, want 1 or more"},
		"roll": {&sums{together: 3, all: 3, fails: terminal, failures: map[string]int{"roll 1": 1}}, "o", "",
			"state: is no state"},
		"learn": {&sums{together: 1, all: 1, fails: terminal, failures: map[string]int{"learn": 1}}, "o", "",
			"state: is no state"},
		"lost rollouts":   {&sums{together: 2, all: 2}, "o", "rolled/0/0", "rolled/0/0: is no longer in the store"},
		"a lost state":    {&sums{together: 1, all: 2}, "o", "state/1", "state/1: is no longer in the store"},
		"too many people": {&sums{together: 5001, all: 5001}, "o", "", "5001 people, want 5000 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			store.loses = c.loses
			env := newRun(t, c.trainer, store)
			env.ExecuteWorkflow(distributed.WorkflowName, distributed.Params{Options: []byte(c.options)})
			var failed *temporal.ApplicationError
			if err := env.GetWorkflowError(); !errors.As(err, &failed) || !failed.NonRetryable() ||
				!strings.Contains(failed.Message(), c.want) {
				t.Errorf("ended with %v, want %q", err, c.want)
			}
			if n := store.count(); n != 0 {
				t.Errorf("left %v", store.keys)
			}
		})
	}
}

func TestACancelledTrainingLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		in          string
		all, rolled int
		updates     int
	}{
		"in a rollout":                      {"Roll", 4, 1, 0}, // the training still ends
		"after the last step":               {"Forget", 2, 2, 0},
		"where a history would begin anew":  {"Forget", 4, 2, 1},
		"while the first state is kept yet": {"Begin", 4, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sums{together: 2, all: c.all}
			store := newStore(t)
			env := newRun(t, s, store)
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == c.in {
					env.CancelWorkflow()
				}
			})
			env.ExecuteWorkflow(distributed.WorkflowName, distributed.Params{Options: []byte("o"), Updates: c.updates})
			if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) {
				t.Errorf("ended with %v", err)
			}
			if s.rolled < c.rolled {
				t.Errorf("%d rollouts were made, want %d", s.rolled, c.rolled)
			}
			if n := store.count(); n != 0 {
				t.Errorf("left %v", store.keys)
			}
		})
	}
}

// A history begins anew after some updates, and keeps the progress so far.
func TestHistoriesStaySmall(t *testing.T) {
	s := &sums{together: 2, all: 5}
	store := newStore(t)
	p := distributed.Params{Options: []byte("o"), Updates: 1}
	for updates := 1; updates < 3; updates++ {
		env := newRun(t, s, store)
		env.ExecuteWorkflow(distributed.WorkflowName, p)
		var next *workflow.ContinueAsNewError
		if err := env.GetWorkflowError(); !errors.As(err, &next) {
			t.Fatalf("ended with %v", err)
		}
		p = distributed.Params{}
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &p); err != nil {
			t.Fatal(err)
		}
		if p.Options != nil || p.Updates != 1 || p.Progress.Updates != updates || p.Progress.People != 2*updates ||
			p.Progress.Rolled != 0 {
			t.Fatalf("goes on with %+v, %+v", p, p.Progress)
		}
	}
	env := newRun(t, s, store)
	env.ExecuteWorkflow(distributed.WorkflowName, p)
	wantState(t, env, store, s.alone(t, "o"))
}

func TestProgressIsAnswered(t *testing.T) {
	s := &sums{together: 2, all: 3, fails: errors.New("for a while"), failures: map[string]int{"roll 1": 1, "roll 2": 1}}
	env := newRun(t, s, newStore(t))
	ask := func() (p distributed.Progress) {
		value, err := env.QueryWorkflow(distributed.QueryProgress)
		if err == nil {
			err = value.Get(&p)
		}
		if err != nil {
			t.Error(err)
		}
		return p
	}
	env.RegisterDelayedCallback(func() {
		if got, want := ask(), (distributed.Progress{Next: []int{0, 1}, Rolled: 1}); !reflect.DeepEqual(got, want) {
			t.Errorf("progress %+v, want %+v", got, want)
		}
	}, 500*time.Millisecond) // while the second person waits for the second attempt
	env.ExecuteWorkflow(distributed.WorkflowName, distributed.Params{Options: []byte("o")})
	if got, want := ask(), (distributed.Progress{Updates: 2, People: 3}); !reflect.DeepEqual(got, want) {
		t.Errorf("progress %+v, want %+v", got, want)
	}
}

func TestTrainingsOfOtherOptionsAreApart(t *testing.T) {
	a, b := distributed.WorkflowID([]byte("a")), distributed.WorkflowID([]byte("b"))
	if a == b || a != distributed.WorkflowID([]byte("a")) || len(a) > 100 {
		t.Errorf("ids %q and %q", a, b)
	}
}
