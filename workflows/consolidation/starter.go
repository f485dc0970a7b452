package consolidation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Starter sends events and requests to users' workflows. It starts workflows that do not run.
type Starter struct {
	// Client is a client made with ClientOptions.
	Client client.Client
	// Tuning applies to runs that this starter begins.
	Tuning Tuning
	// reached has the workflows that Signal has reached. Nil means that any workflow may run.
	reached *otter.Cache[string, struct{}]
}

// maxReached is the maximum number of workflows that a starter remembers.
const maxReached = 20_000

// NewStarter makes a starter that begins the run of a user whom it has not reached before it signals. Without a run, a
// signal fails, and costs one more call.
func NewStarter(c client.Client, t Tuning) Starter {
	return Starter{Client: c, Tuning: t, reached: otter.Must(&otter.Options[string, struct{}]{MaximumSize: maxReached})}
}

func startOptions(scope memory.Scope) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: WorkflowID(scope), TaskQueue: QueueWorkflow,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout:      10 * time.Second,
	}
}

// startAttempts is how often Signal begins a run that ends before its signal arrives.
const startAttempts = 5

// Signal sends events to the user's workflow. They are durable when it returns nil. They must fit into one payload (2
// MB). Signal never begins a run with events as input. If the server fails to begin a run, its first events stay in
// the database, and no erasure finds them.
func (s Starter) Signal(ctx context.Context, p Params, events []Event) error {
	p.Tuning = s.Tuning
	id, in := WorkflowID(p.Scope), Signal{Events: events, Strategy: p.Strategy, Policy: p.Policy, TalkDays: p.TalkDays}
	if s.isNew(id) {
		if err := s.begin(ctx, p); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		err := s.Client.SignalWorkflow(ctx, id, "", SignalEvents, in)
		var absent *serviceerror.NotFound
		switch {
		case err == nil:
			s.remember(id)
			return nil
		case !errors.As(err, &absent) || attempt > startAttempts:
			return fmt.Errorf("signal consolidation: %w", err)
		}
		if err := s.begin(ctx, p); err != nil {
			return err
		}
	}
}

// begin starts the user's workflow. It does nothing if the workflow runs.
func (s Starter) begin(ctx context.Context, p Params) error {
	if _, err := s.Client.ExecuteWorkflow(ctx, startOptions(p.Scope), WorkflowName, p); err != nil {
		return fmt.Errorf("start consolidation: %w", err)
	}
	return nil
}

func (s Starter) isNew(id string) bool {
	if s.reached == nil {
		return false
	}
	_, reached := s.reached.GetIfPresent(id)
	return !reached
}

func (s Starter) remember(id string) {
	if s.reached != nil {
		s.reached.Set(id, struct{}{})
	}
}

// ErrPending means that a request was accepted but not finished in the available time.
var ErrPending = errors.New("the request is accepted and waits for the user's writer")

// Retract asks the user's workflow to retract an entry, and returns nil when that is done. A terminal error gives the
// reason of a refusal.
func (s Starter) Retract(ctx context.Context, p Params, in Retraction) error {
	return s.update(ctx, p, UpdateRetract, in.ID, in)
}

// Edit asks the user's workflow to write an entry with a caller's text, Edit.EntryID, and returns nil when that is
// done. A terminal error gives the reason of a refusal.
func (s Starter) Edit(ctx context.Context, p Params, in Edit) error {
	return s.update(ctx, p, UpdateEdit, in.ID, in)
}

// update sends a request to the user's workflow, starts the workflow if needed, and waits for the result.
func (s Starter) update(ctx context.Context, p Params, name, id string, in any) error {
	p.Tuning = s.Tuning
	update, err := s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: s.Client.NewWithStartWorkflowOperation(startOptions(p.Scope), WorkflowName, p),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: id, UpdateName: name, Args: []any{in}, WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
	if err != nil {
		return fmt.Errorf("ask the writer to %s: %w", name, errors.Join(err, ctx.Err()))
	}
	err = update.Get(ctx, nil)
	var refused *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Type() == errorTerminal:
		return fault.Terminal("", "%s", refused.Message())
	case ctx.Err() != nil:
		return ErrPending
	default: // the run ended before its answer; the server reports an ApplicationError with a special type
		return fmt.Errorf("wait for the writer to %s: %w: %w", name, fault.ErrUnavailable, err)
	}
}

// Waits reports whether turns of a session wait for consolidation. A workflow that does not run has no waiting turns.
func (s Starter) Waits(ctx context.Context, scope memory.Scope, sessionID string) (bool, error) {
	answer, err := s.Client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: WorkflowID(scope), QueryType: QueryWaiting, Args: []any{sessionID},
		QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	var absent *serviceerror.NotFound
	var begins *serviceerror.WorkflowNotReady
	var idle *serviceerror.FailedPrecondition
	switch {
	case errors.As(err, &absent):
		return false, nil
	case errors.As(err, &begins): // its first signal waits
		return true, nil
	case errors.As(err, &idle): // no worker accepts the query
		return false, fmt.Errorf("ask consolidation: %w: %w", fault.ErrUnavailable, err)
	case err != nil:
		return false, fmt.Errorf("ask consolidation: %w", err)
	case answer.QueryRejected != nil:
		return false, nil
	}
	var waits bool
	if err := answer.QueryResult.Get(&waits); err != nil {
		return false, fmt.Errorf("read consolidation's answer: %w", err)
	}
	return waits, nil
}

// Runs reports whether the user's workflow runs at the moment.
func (s Starter) Runs(ctx context.Context, scope memory.Scope) (bool, error) {
	found, err := s.Client.DescribeWorkflowExecution(ctx, WorkflowID(scope), "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up consolidation: %w", err)
	}
	return found.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
