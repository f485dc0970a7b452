package erasure

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

// Activities are the steps of an erasure.
type Activities struct {
	// Stores are erased in this order.
	Stores []Store
	// Log receives failures of stores. nil means no log.
	Log *slog.Logger
}

// EraseStores erases the stores that are not known to be empty. If a store fails, it still erases the others, and
// the result still has the store's requested deletions. Failures are part of the result, and the workflow tries
// again.
func (a *Activities) EraseStores(ctx context.Context, r Request) (Erasing, error) {
	out := Erasing{Deletions: Deletions{}, Failed: map[string]string{}}
	maps.Copy(out.Deletions, r.Deletions)
	r.Deletions = out.Deletions
	for _, s := range a.Stores {
		if slices.Contains(r.Empty, s.Name()) {
			continue
		}
		if err := s.Erase(ctx, r); err != nil {
			out.Failed[s.Name()] = a.failed(ctx, "erase", s, err)
		}
	}
	return out, ctx.Err()
}

// CountStores counts the rest in every store. A store with a failed erasure or a failed count counts as at least 1.
func (a *Activities) CountStores(ctx context.Context, r Request) ([]Count, error) {
	counts := make([]Count, len(a.Stores))
	for i, s := range a.Stores {
		n, err := s.Count(ctx, r)
		class := r.Failed[s.Name()]
		if err != nil {
			n, class = 0, a.failed(ctx, "count", s, err)
		}
		if class != "" {
			n = max(n, 1)
		}
		counts[i] = Count{Store: s.Name(), Count: n, Error: class}
	}
	return counts, ctx.Err()
}

// failed logs an error and returns its class.
func (a *Activities) failed(ctx context.Context, what string, s Store, err error) string {
	if a.Log != nil {
		a.Log.WarnContext(ctx, "erasure: a store failed, retrying", "operation", what, "store", s.Name(), "error", err)
	}
	return connect.CodeOf(rpcerror.From(err)).String()
}

// Worker makes the worker of workflow and activities. The caller starts and stops it.
func Worker(c client.Client, a *Activities, interceptors ...interceptor.WorkerInterceptor) worker.Worker {
	w := worker.New(c, Queue, worker.Options{
		Interceptors: interceptors, DisableRegistrationAliasing: true,
		DeadlockDetectionTimeout: 10 * time.Second, // as long as a task may last: a busy machine is no deadlock
		WorkerStopTimeout:        5 * time.Second,  // running activities end before their stores close
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
