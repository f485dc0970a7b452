package distributed

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Worker makes a worker that runs so many steps of the queue at a time. 0 means one a processor. The caller starts
// and stops it. All workers of a queue must have one build and one kind of processor: others may give other bytes.
func Worker(c client.Client, a *Activities, parallel int) worker.Worker {
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	w := worker.New(c, Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: parallel, MaxHeartbeatThrottleInterval: heartbeatEvery,
		DisableRegistrationAliasing: true,
		WorkerStopTimeout:           5 * time.Second,  // time to hand over unfinished steps
		DeadlockDetectionTimeout:    10 * time.Second, // as long as a task may last: a busy machine is no deadlock
	})
	Register(w)
	w.RegisterActivity(a)
	return w
}

// Register registers the workflow with a worker, a replayer or a test environment.
func Register(r interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
}) {
	r.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
}

// Starter starts trainings that workers make.
type Starter struct {
	Client client.Client
	Store  checkpoint.Store
	// Updates is the field of Params.
	Updates int
}

// askEvery is the interval of progress queries, and the longest time for an answer.
const askEvery = time.Second

// Train runs a training and passes its last state to keep. A running training with the same options, or one with an
// unsaved last state, is not started again: Train waits for it. The training continues after the end of ctx or of the
// process, and the same call finds it again. told, where not nil, gets the progress. When keep returns nil, Train
// deletes the training's checkpoints. Of several calls for one training, the first gets the state and the others get
// ErrTaken. A terminal error says why the training cannot run.
func (s Starter) Train(ctx context.Context, options []byte, told func(Progress), keep func(state []byte) error) error {
	found, err := s.find(ctx, options)
	if err != nil {
		return err
	}
	err = s.train(ctx, options, told, keep, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	switch {
	case !errors.Is(err, checkpoint.ErrAbsent):
		return err
	case found.status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED: // the store has nothing left of the training
		return s.train(ctx, options, told, keep, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	}
	return ErrTaken
}

// ErrTaken means that a training is over and its state is gone: another call has it, or the store has lost it.
var ErrTaken = errors.New("the training is over, and its policy is in the store no more: another that waited for it " +
	"has it, unless the store has lost it; begin anew")

// ErrEnding means that a cancelled training has not ended yet. Its end needs workers.
var ErrEnding = errors.New("a training of the same options was cancelled, and has not ended yet")

// found is a training in Temporal. Without a training it has no status.
type found struct {
	id, first string
	status    enumspb.WorkflowExecutionStatus
}

// find looks for the training of some options. An ending training is ErrEnding.
func (s Starter) find(ctx context.Context, options []byte) (found, error) {
	out := found{id: WorkflowID(options)}
	described, err := s.Client.DescribeWorkflowExecution(ctx, out.id, "")
	var absent *serviceerror.NotFound
	switch {
	case errors.As(err, &absent):
		return out, nil
	case err != nil:
		return out, fmt.Errorf("find training: %w", err)
	}
	info := described.GetWorkflowExecutionInfo()
	out.status, out.first = info.GetStatus(), info.GetFirstRunId()
	if out.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING &&
		described.GetWorkflowExtendedInfo().GetCancelRequested() {
		return out, ErrEnding
	}
	return out, nil
}

func (s Starter) train(
	ctx context.Context, options []byte, told func(Progress), keep func(state []byte) error,
	reuse enumspb.WorkflowIdReusePolicy,
) error {
	id := WorkflowID(options)
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: Queue, WorkflowIDReusePolicy: reuse,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, WorkflowName, Params{Options: options, Updates: s.Updates})
	if err != nil {
		return fmt.Errorf("start training: %w", err)
	}
	if told != nil {
		asking, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() { defer close(ended); s.ask(asking, id, told) }()
		defer func() { stop(); <-ended }()
	}
	var result Result
	err = run.Get(ctx, &result)
	var failed *temporal.ApplicationError
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &failed) && failed.NonRetryable():
		return fault.Terminal("", "%s", failed.Message())
	case errors.As(err, &cancelled):
		return errors.New("the training was cancelled")
	case err != nil:
		return fmt.Errorf("wait for training: %w", err)
	}
	state, err := s.Store.Get(ctx, result.Run, result.State)
	if err != nil {
		return fmt.Errorf("read the last state: %w", err)
	}
	if err := keep(state); err != nil {
		return err
	}
	return s.Store.DeleteRun(ctx, result.Run)
}

// ask reports the progress of a training until the context ends. It ignores missing answers.
func (s Starter) ask(ctx context.Context, id string, told func(Progress)) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		within, cancel := context.WithTimeout(ctx, askEvery)
		answer, err := s.Client.QueryWorkflow(within, id, "", QueryProgress)
		cancel()
		var p Progress
		if err == nil && answer.Get(&p) == nil {
			told(p)
		}
	}
}

// Cancelled is the result of a cancellation.
type Cancelled string

// The results of a cancellation.
const (
	// NotFound means that Temporal has no training with the options.
	NotFound Cancelled = "not found"
	// Ending means that a worker will soon end it and delete its checkpoints.
	Ending Cancelled = "ending"
	// Over means that it had ended. Its checkpoints are deleted.
	Over Cancelled = "over"
)

// Cancel ends the training with some options and deletes its checkpoints, also after the end, when no caller took its
// last state.
func (s Starter) Cancel(ctx context.Context, options []byte) (Cancelled, error) {
	for {
		found, err := s.find(ctx, options)
		switch {
		case errors.Is(err, ErrEnding):
			return Ending, nil
		case err != nil:
			return NotFound, err
		case found.status == enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
			return NotFound, nil
		case found.status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			return Over, s.Store.DeleteRun(ctx, runOf(found.id, found.first))
		}
		err = s.Client.CancelWorkflow(ctx, found.id, "")
		var ended *serviceerror.NotFound
		switch {
		case err == nil:
			return Ending, nil
		case !errors.As(err, &ended): // else it has ended since the search
			return NotFound, fmt.Errorf("cancel training: %w", err)
		}
	}
}
