package consolidation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// idles returns an event that sets the idle time of its session.
func idles(e consolidation.Event, after time.Duration) consolidation.Event {
	e.IdleAfter = after
	return e
}

// at sends events as a signal at a given time of the run.
func at(env *testsuite.TestWorkflowEnvironment, after time.Duration, events ...consolidation.Event) {
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(consolidation.SignalEvents, consolidation.Signal{Events: events})
	}, after)
}

// closings returns when sessions closed after the start of the run, and with which turns.
func closings(s *steps) []string {
	out := []string{}
	for i, a := range s.applied {
		if a.Batch.Closes {
			out = append(out, fmt.Sprint(a.Batch.SessionID, " ", s.turnsOf()[i], " ", a.Batch.ClosedAt.Sub(start)))
		}
	}
	return out
}

func TestASessionIsClosedWhenItIsIdle(t *testing.T) {
	half := 30 * time.Second
	dropped := turn("s1", 2)
	dropped.Context = true
	for name, tc := range map[string]struct {
		send func(env *testsuite.TestWorkflowEnvironment)
		want []string
		// batches is the number of consolidations.
		batches int
	}{
		"after its last turn": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
		}, []string{"s1 [s1:1] 30s"}, 1},
		"another turn puts it off": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
			at(env, 20*time.Second, idles(turn("s1", 2), half))
		}, []string{"s1 [s1:1 s1:2] 50s"}, 1},
		"so does one without a time of its own": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
			at(env, 20*time.Second, turn("s1", 2))
		}, []string{"s1 [s1:1 s1:2] 50s"}, 1},
		"so does one that was dropped": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
			at(env, 20*time.Second, dropped)
		}, []string{"s1 [s1:1] 50s"}, 1},
		"one of another session does not": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
			at(env, 20*time.Second, idles(turn("s2", 1), half))
		}, []string{"s1 [s1:1] 30s", "s2 [s2:1] 50s"}, 2},
		"nor does one that is repeated": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
			at(env, 20*time.Second, idles(turn("s1", 1), half))
		}, []string{"s1 [s1:1] 30s"}, 1},
		"the newest time holds": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), time.Hour))
			at(env, 20*time.Second, idles(turn("s1", 2), half))
		}, []string{"s1 [s1:1 s1:2] 50s"}, 1},
		"only dropped turns came": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(dropped, half))
		}, []string{"s1 [] 30s"}, 1},
		"an event closed it before": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half), consolidation.Event{ID: "c", SessionID: "s1",
				ClosedAt: start.Add(time.Second)})
		}, []string{"s1 [s1:1] 1s"}, 1},
		"it goes on after its end": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), half))
			at(env, 33*time.Second, idles(turn("s1", 2), half))
		}, []string{"s1 [s1:1] 30s", "s1 [s1:2] 1m3s"}, 2},
		"its turns are formed before": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), time.Hour))
		}, []string{"s1 [] 1h0m0s"}, 2},
		"its turns are formed before, and more come": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), time.Hour))
			at(env, 55*time.Minute, turn("s1", 2))
		}, []string{"s1 [] 1h55m0s"}, 3},
		"after a day": {func(env *testsuite.TestWorkflowEnvironment) {
			at(env, 0, idles(turn("s1", 1), 24*time.Hour))
		}, []string{"s1 [] 24h0m0s"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			env, s := newRun(t)
			tc.send(env)
			finish(t, env, params())
			if got := closings(s); !slices.Equal(got, tc.want) || len(s.applied) != tc.batches {
				t.Errorf("closed %q in %d consolidations, want %q in %d", got, len(s.applied), tc.want, tc.batches)
			}
		})
	}
}

// The wait for an idle end wakes the workflow once, not at every Tuning.Idle. So the wait costs no extra tasks.
func TestAWaitForAnIdleEndIsOneTimer(t *testing.T) {
	env, _ := newRun(t)
	var timers []time.Duration
	env.SetOnTimerScheduledListener(func(_ string, d time.Duration) { timers = append(timers, d) })
	at(env, 0, idles(turn("s1", 1), 24*time.Hour))
	finish(t, env, params())
	tuning := params().Tuning
	if want := []time.Duration{tuning.Linger, tuning.Idle, 24*time.Hour - tuning.Idle,
		tuning.Linger}; !slices.Equal(timers, want) &&
		!slices.Equal(timers, want[1:]) {
		t.Errorf("timers %v, want %v", timers, want)
	}
}

func TestAnIdleEndIsCarriedIntoTheNextRun(t *testing.T) {
	env, s := newRun(t)
	env.SetContinueAsNewSuggested(true)
	at(env, 0, idles(turn("s1", 1), 30*time.Second))
	p := params()
	p.State = continued(t, env, p)
	if len(s.applied) > 0 {
		t.Fatalf("the first run applied %v", s.turnsOf())
	}
	env, s = newRun(t)
	env.SetStartTime(start.Add(10 * time.Second))
	finish(t, env, p)
	if got := closings(s); !slices.Equal(got, []string{"s1 [s1:1] 30s"}) {
		t.Errorf("the next run closed %q", got)
	}
}

// An erasure ends the wait. The later events wait in a new run, because the history of the erased run must be
// deletable.
func TestAnErasureEndsTheWaitForAnIdleEnd(t *testing.T) {
	env, e := newErasing(t)
	at(env, 0, idles(turn("s1", 1), 24*time.Hour), erasure("x1"))
	began := env.Now()
	finish(t, env, params())
	if took := env.Now().Sub(began); len(e.applied) > 0 || took >= params().Tuning.Linger {
		t.Errorf("applied %v, and the run stayed for %s", e.turnsOf(), took)
	}
	env, _ = newErasing(t)
	at(env, 0, turn("s1", 1), erasure("x1"), idles(turn("s2", 1), 24*time.Hour))
	began = env.Now()
	state := continued(t, env, params())
	if took := env.Now().Sub(began); len(state.Open) != 1 || state.Open[0].IdleAfter != 24*time.Hour ||
		took >= params().Tuning.Linger {
		t.Errorf("carries %+v after %s", state.Open, took)
	}
}

// A user may have any number of sessions per day, but the number of waiting sessions is limited.
func TestTooManyIdleSessionsAreClosedEarly(t *testing.T) {
	env, s := newRun(t)
	var events []consolidation.Event
	for i := range 258 {
		events = append(events, idles(turn(fmt.Sprint("s", i), 1), time.Duration(258-i)*time.Minute))
	}
	at(env, 0, events...)
	finish(t, env, params())
	got := closings(s)
	if len(got) != 258 || got[0] != "s257 [s257:1] 0s" || got[1] != "s256 [s256:1] 0s" || got[2] != "s255 [s255:1] 3m0s" {
		t.Errorf("closed %d sessions, the first %q; want the two that are due first at once", len(got),
			got[:min(3, len(got))])
	}
}

// A run whose history has an idle time that an older worker ignored continues to ignore idle times, because its
// timers are recorded.
func TestARunOfAnOlderWorkerIgnoresIdleTimes(t *testing.T) {
	env, s := newRun(t)
	env.OnGetVersion("idle-after", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	at(env, 0, idles(turn("s1", 1), 30*time.Second))
	finish(t, env, params())
	if len(s.applied) != 1 || s.applied[0].Batch.Closes {
		t.Errorf("applied %+v, want one batch that does not close", s.applied)
	}
}
