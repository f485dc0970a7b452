package consolidation

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Starter signals users' workflows.
type Starter struct {
	// Client is a client made with ClientOptions.
	Client client.Client
	// Tuning is for runs that this starter begins.
	Tuning Tuning
}

// Signal hands events to the user's workflow, starting it where it does not run. The events
// are durable when it returns nil. They must be small enough for one payload (2 MB).
func (s Starter) Signal(ctx context.Context, p Params, events []Event) error {
	p.Tuning = s.Tuning
	id := WorkflowID(p.Scope)
	_, err := s.Client.SignalWithStartWorkflow(ctx, id, SignalEvents, Signal{Events: events, Strategy: p.Strategy, Policy: p.Policy}, client.StartWorkflowOptions{
		ID:                    id,
		TaskQueue:             QueueWorkflow,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout:   10 * time.Second,
	}, WorkflowName, p)
	if err != nil {
		return fmt.Errorf("signal consolidation: %w", err)
	}
	return nil
}

// Runs reports whether the user's workflow runs at the moment.
func (s Starter) Runs(ctx context.Context, scope memory.Scope) (bool, error) {
	found, err := s.Client.DescribeWorkflowExecution(ctx, WorkflowID(scope), "")
	var absent *serviceerror.NotFound
	if errors.As(err, &absent) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up consolidation: %w", err)
	}
	return found.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
