package erasure

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Activities are the steps of an erasure.
type Activities struct {
	// Stores are erased in this order.
	Stores []Store
}

// EraseStores erases every store. A store that fails does not keep the others from being erased.
func (a *Activities) EraseStores(ctx context.Context, r Request) error {
	var errs []error
	for _, s := range a.Stores {
		if err := s.Erase(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("erase %s: %w", s.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// CountStores counts what is left in every store.
func (a *Activities) CountStores(ctx context.Context, r Request) ([]Count, error) {
	counts := make([]Count, len(a.Stores))
	for i, s := range a.Stores {
		n, err := s.Count(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", s.Name(), err)
		}
		counts[i] = Count{Store: s.Name(), Count: n}
	}
	return counts, nil
}

// Worker makes the worker of workflow and activities. The caller starts and stops it.
func Worker(c client.Client, a *Activities, interceptors ...interceptor.WorkerInterceptor) worker.Worker {
	w := worker.New(c, Queue, worker.Options{
		Interceptors: interceptors, DisableRegistrationAliasing: true,
		DeadlockDetectionTimeout: 10 * time.Second, // as long as a task may last: a busy machine is no deadlock
		WorkerStopTimeout:        5 * time.Second,  // for what was begun to end before its stores are closed
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

// Starter begins erasures and says how far they are, through a client of consolidation.ClientOptions.
type Starter struct{ Client client.Client }

var _ consolidation.Erasures = Starter{}

// Begin implements consolidation.Erasures: a request that comes again is told to the workflow of the first.
func (s Starter) Begin(ctx context.Context, e consolidation.Erased) error {
	id := WorkflowID(e.Scope, e.RequestID)
	_, err := s.Client.SignalWithStartWorkflow(ctx, id, SignalErased, e, client.StartWorkflowOptions{
		ID: id, TaskQueue: Queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, WorkflowName, Params{Scope: e.Scope, RequestID: e.RequestID})
	if err != nil {
		return fmt.Errorf("begin erasure: %w", err)
	}
	return nil
}

// State is how far an erasure is.
type State int

// The states of an erasure.
const (
	// Pending erasures wait for the user's writer, or are not known.
	Pending State = iota
	// Running erasures have emptied the bank.
	Running
	// Done erasures have found nothing left.
	Done
)

// ErrEnded says that an erasure was ended from outside before it found nothing left.
var ErrEnded = errors.New("the erasure was ended before it was proved: ask for a new one")

// Ask returns how far an erasure is, and its report when it is done.
func (s Starter) Ask(ctx context.Context, scope memory.Scope, requestID string) (State, Report, error) {
	id := WorkflowID(scope, requestID)
	found, err := s.Client.DescribeWorkflowExecution(ctx, id, "")
	var absent *serviceerror.NotFound
	switch {
	case errors.As(err, &absent):
		return Pending, Report{}, nil
	case err != nil:
		return Pending, Report{}, fmt.Errorf("ask for erasure: %w", err)
	}
	switch found.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return Running, Report{}, nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		var report Report
		run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		if err := s.Client.GetWorkflow(ctx, id, run).Get(ctx, &report); err != nil {
			return Pending, Report{}, fmt.Errorf("ask for erasure: %w", err)
		}
		return Done, report, nil
	default:
		return Pending, Report{}, ErrEnded
	}
}
