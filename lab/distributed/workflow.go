package distributed

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// defaultUpdates is the number of updates in one history.
	defaultUpdates = 50
	// maxWaiting bounds the waiting and running rollouts: the server allows 2,000 a workflow.
	maxWaiting = 500
	// MaxPeople bounds the people of an update. Each has three events, and a history has 51,200 at most.
	MaxPeople = 5000
	// forgetFor is the time in which an ended training tries to delete its checkpoints, before their expiry does.
	// Workers may first have other trainings' rollouts to make. forgetWithin is the limit of an attempt.
	forgetFor, forgetWithin = time.Hour, time.Minute
)

// Workflow trains until no people are left.
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
		RetryPolicy: &temporal.RetryPolicy{ // for ever: only a terminal error, a panic or a cancellation ends it
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			NonRetryableErrorTypes: []string{errorPanic},
		},
	})
	err := r.train(ctx, p)
	if err != nil && !workflow.IsContinueAsNewError(err) {
		r.forget(ctx)
		if ctx.Err() != nil { // it was cancelled, with any result of its steps
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
		if err := workflow.ExecuteActivity(ctx, a.Begin, BeginInput{Run: r.id, Options: p.Options}).Get(ctx,
			&r.at.Next); err != nil {
			return err
		}
	}
	most := p.Updates
	if most <= 0 {
		most = defaultUpdates
	}
	for made := 0; len(r.at.Next) > 0; made++ {
		if err := ctx.Err(); err != nil { // steps that still end do not return it, and a new history would not have it
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
		// Only now is the update in the history, so that no worker makes it again.
		if err := workflow.ExecuteActivity(ctx, a.Forget, step).Get(ctx, nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// roll runs the rollouts of the next update. The first error cancels the others.
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

// forget deletes the checkpoints of a failed or cancelled training. The store's expiry deletes the rest.
func (r *run) forget(ctx workflow.Context) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	ctx = workflow.WithStartToCloseTimeout(workflow.WithScheduleToCloseTimeout(ctx, forgetFor), forgetWithin)
	var a *Activities
	if err := workflow.ExecuteActivity(ctx, a.ForgetRun, r.id).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("checkpoints are left to their time", "error", err)
	}
}
