package consolidation

import (
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// heartbeatEvery is well below the activities' heartbeat time-out.
const heartbeatEvery = 2 * time.Second

// stopTimeout is how long activities that have begun may take to finish when a worker stops; what takes longer is
// done again by another worker.
const stopTimeout = 5 * time.Second

// deadlockAfter is how long a workflow may compute before the SDK takes it for stuck: as long as a workflow task may
// last at all. With the SDK's second, a process that is short of processor fails sound tasks, and every such failure
// leaves a goroutine behind for good.
const deadlockAfter = 10 * time.Second

// ClientOptions adds what this workflow needs of a client: the trace in headers, and compressed
// payloads, because batches of turns and vectors repeat themselves. Of its logger, failures that no retry repairs are warnings.
func ClientOptions(o client.Options) client.Options {
	o.ContextPropagators = append(o.ContextPropagators, TracePropagator{})
	o.DataConverter = DataConverter()
	if o.Logger != nil {
		o.Logger = logger{o.Logger}
	}
	return o
}

// Roles are the parts of the work that a process takes.
type Roles struct {
	Workflow, Model, Store bool
	// ModelParallel and StoreParallel bound the activities of each sort at a time; 0 means 16 and 64.
	ModelParallel, StoreParallel int
}

// Workers makes a worker per role. The caller starts and stops them.
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
