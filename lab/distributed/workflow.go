package distributed

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// defaultUpdates are there to one history.
	defaultUpdates = 50
	// maxWaiting bounds the rollouts that wait or are being made at a time: the server takes 2,000 of a workflow.
	maxWaiting = 500
	// MaxPeople bounds those of an update: each has three events, and a history 51,200 at most.
	MaxPeople = 5000
	// forgetFor is how long an ended training tries to delete its checkpoints before it leaves them to their time: workers may have other
	// trainings' rollouts to make first. forgetWithin is what an attempt has.
	forgetFor, forgetWithin = time.Hour, time.Minute
)

// Workflow trains until there is nobody left to learn from.
func Workflow(ctx workflow.Context, p Params) (Result, error) {
	info := workflow.GetInfo(ctx)
	r := &run{id: runOf(info.WorkflowExecution.ID, info.FirstRunID)}
	if p.Progress != nil {
		r.at = *p.Progress
	}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return r.at, nil }); err != nil {
		return Result{}, err
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		// A rollout may take hours; the heartbeat finds a dead worker within seconds.
		StartToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: heartbeatTimeout, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{ // for ever: only what is terminal, or a panic, or cancellation ends it
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, NonRetryableErrorTypes: []string{errorPanic},
		},
	})
	err := r.train(ctx, p)
	if err != nil && !workflow.IsContinueAsNewError(err) {
		r.forget(ctx)
		if ctx.Err() != nil { // it was cancelled, however its steps took that
			err = ctx.Err()
		}
		return Result{}, err
	}
	return Result{Run: r.id, State: keyState(r.at.Updates)}, err
}

type run struct {
	id string
	at Progress
}

func (r *run) train(ctx workflow.Context, p Params) error {
	var a *Activities
	if p.Progress == nil {
		if err := workflow.ExecuteActivity(ctx, a.Begin, BeginInput{Run: r.id, Options: p.Options}).Get(ctx, &r.at.Next); err != nil {
			return err
		}
	}
	most := p.Updates
	if most <= 0 {
		most = defaultUpdates
	}
	for made := 0; len(r.at.Next) > 0; made++ {
		if err := ctx.Err(); err != nil { // steps that end all the same do not say so, and a history begun anew would not know
			return err
		}
		if made >= most || made > 0 && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, WorkflowName, Params{Updates: p.Updates, Progress: &r.at})
		}
		if n := len(r.at.Next); n > MaxPeople {
			return temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("an update is of %d people, want %d at most", n, MaxPeople), errorTerminal, nil)
		}
		if err := r.roll(ctx); err != nil {
			return err
		}
		step := Step{Run: r.id, Update: r.at.Updates, People: r.at.Next}
		next := Progress{Updates: r.at.Updates + 1, People: r.at.People + len(r.at.Next)}
		if err := workflow.ExecuteActivity(ctx, a.Learn, step).Get(ctx, &next.Next); err != nil {
			return err
		}
		r.at = next
		// Only now is the update in the history, so that it is never made again.
		if err := workflow.ExecuteActivity(ctx, a.Forget, step).Get(ctx, nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// roll has the rollouts of the next update made. The first error cancels the others.
func (r *run) roll(ctx workflow.Context) (failed error) {
	var a *Activities
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	fail := func(err error) {
		if err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	slots, all := workflow.NewSemaphore(ctx, maxWaiting), workflow.NewWaitGroup(ctx)
	for _, person := range r.at.Next {
		if err := slots.Acquire(ctx, 1); err != nil {
			fail(err)
			break
		}
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			defer slots.Release(1)
			step := Step{Run: r.id, Update: r.at.Updates, People: []int{person}}
			if err := workflow.ExecuteActivity(ctx, a.Roll, step).Get(ctx, nil); err != nil {
				fail(err)
				return
			}
			r.at.Rolled++
		})
	}
	all.Wait(ctx)
	return failed
}

// forget deletes the checkpoints of a training that ended before its end, also of one that was cancelled. What is left is forgotten in
// time.
func (r *run) forget(ctx workflow.Context) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	ctx = workflow.WithStartToCloseTimeout(workflow.WithScheduleToCloseTimeout(ctx, forgetFor), forgetWithin)
	var a *Activities
	if err := workflow.ExecuteActivity(ctx, a.ForgetRun, r.id).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("checkpoints are left to their time", "error", err)
	}
}
