package erasure

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// Activities are the steps of an erasure.
type Activities struct {
	// Stores are erased in this order.
	Stores []Store
	// Log receives failures of stores. nil means no log.
	Log *slog.Logger
}

// EraseStores erases the stores that are not known to be empty. If a store fails, it still erases the others, and the
// result still has the store's requested deletions. Failures are part of the result, and the workflow tries again.
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

// Scanner counts everything that is kept of a user, whether an erasure is under way or not.
type Scanner struct {
	Bank   bank.Bank
	Window window.Window
	Stores []Store
}

// Scan counts every store, those with nothing included.
func (s Scanner) Scan(ctx context.Context, scope memory.Scope) ([]Count, error) {
	kept, err := s.Bank.Count(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("count bank: %w", err)
	}
	recent, err := s.Window.Count(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("count window: %w", err)
	}
	counts := []Count{
		{Store: "memories", Count: kept.Memories}, {Store: "turns", Count: kept.Turns},
		{Store: "sessions", Count: kept.Sessions}, {Store: "core block", Count: kept.Core},
		{Store: "dropped turns", Count: kept.Dropped},
		{Store: "window turns", Count: recent.Turns}, {Store: "window retired ids", Count: recent.Retired},
	}
	for _, store := range s.Stores {
		n, err := store.Count(ctx, Request{Scope: scope})
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", store.Name(), err)
		}
		counts = append(counts, Count{Store: store.Name(), Count: n})
	}
	return counts, nil
}
