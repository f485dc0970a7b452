package consolidation

import (
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// heartbeatEvery is well below the activities' heartbeat timeout.
const heartbeatEvery = 2 * time.Second

// stopTimeout is how long running activities may take to finish when a worker stops. After that, another worker
// repeats them.
const stopTimeout = 5 * time.Second

// deadlockAfter is how long a workflow may compute before the SDK reports a deadlock. It equals the maximum duration
// of a workflow task. With the SDK's limit of one second, a process with little CPU time fails valid tasks. Every
// such failure leaks a goroutine.
const deadlockAfter = 10 * time.Second

// ClientOptions adds the client options of this workflow. Headers carry the trace. Payloads are compressed, because
// batches of turns and vectors are repetitive. The logger reports failures that no retry repairs as warnings.
func ClientOptions(o client.Options) client.Options {
	o.ContextPropagators = append(o.ContextPropagators, TracePropagator{})
	o.DataConverter = DataConverter()
	if o.Logger != nil {
		o.Logger = logger{o.Logger}
	}
	return o
}

// Roles are the task queues that a process serves.
type Roles struct {
	Workflow, Model, Store bool
	// ModelParallel and StoreParallel limit the simultaneous activities of each sort. Zero means 16 and 64.
	ModelParallel, StoreParallel int
}

// Workers makes one worker per role. The caller starts and stops them.
func Workers(c client.Client, r Roles, a *Activities, o *Observer) []worker.Worker {
	base := worker.Options{
		Interceptors:                 []interceptor.WorkerInterceptor{o},
		WorkerStopTimeout:            stopTimeout,
		MaxHeartbeatThrottleInterval: heartbeatEvery,
		DeadlockDetectionTimeout:     deadlockAfter,
	}
	var out []worker.Worker
	if r.Workflow {
		o := base
		o.DisableRegistrationAliasing = true
		w := worker.New(c, QueueWorkflow, o)
		Register(w)
		out = append(out, w)
	}
	if r.Model {
		o := base
		o.DisableWorkflowWorker = true
		o.MaxConcurrentActivityExecutionSize = orDefault(r.ModelParallel, 16)
		w := worker.New(c, QueueModel, o)
		w.RegisterActivity(a.Extract)
		w.RegisterActivity(a.Decide)
		w.RegisterActivity(a.Edit)
		out = append(out, w)
	}
	if r.Store {
		o := base
		o.DisableWorkflowWorker = true
		o.MaxConcurrentActivityExecutionSize = orDefault(r.StoreParallel, 64)
		w := worker.New(c, QueueStore, o)
		w.RegisterActivity(a.Relate)
		w.RegisterActivity(a.Search)
		w.RegisterActivity(a.Apply)
		w.RegisterActivity(a.ExpireTalk)
		w.RegisterActivity(a.Retract)
		w.RegisterActivity(a.DeadLetter)
		w.RegisterActivity(a.Erase)
		out = append(out, w)
	}
	return out
}

// Register registers the workflow with a worker, a replayer or a test environment.
func Register(r interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
}) {
	r.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
