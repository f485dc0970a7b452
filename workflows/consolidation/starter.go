package consolidation

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
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
	_, err := s.Client.SignalWithStartWorkflow(ctx, id, SignalEvents, Signal{Events: events}, client.StartWorkflowOptions{
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
