package erasure

import (
	"context"

	"github.com/mneme-memory/mneme/shared/memory"
)

// NamedWorkflowID is the id that earlier versions gave to the workflow of an erasure.
func NamedWorkflowID(scope memory.Scope, requestID string) string {
	return namedWorkflowID(scope, requestID)
}

// Look looks at the running erasures once.
func (w *Watch) Look(ctx context.Context) { w.look(ctx) }
