package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Names of the bare workflow's parts. It has the same kinds of queues as the consolidation: one for workflows, two
// for activities.
const (
	bareQueue      = "bench-workflow"
	bareQueueModel = "bench-model"
	bareQueueStore = "bench-store"
	bareSignal     = "work"
	bareQuery      = "signals"
	bareLinger     = 5 * time.Second
)

// bareFlow does the minimum of a consolidation's work in the workflow engine. A signal with start reaches an entity
// workflow, which runs four activities one after another on two queues. The activities are empty.
type bareFlow struct {
	client  client.Client
	workers []worker.Worker

	mu   sync.Mutex
	done map[string]chan struct{}
}

func startBareFlow(c client.Client) (*bareFlow, error) {
	f := &bareFlow{client: c, done: map[string]chan struct{}{}}
	w := worker.New(c, bareQueue, worker.Options{})
	w.RegisterWorkflow(bareEntity)
	model := worker.New(c, bareQueueModel, worker.Options{DisableWorkflowWorker: true,
		MaxConcurrentActivityExecutionSize: 16})
	store := worker.New(c, bareQueueStore, worker.Options{DisableWorkflowWorker: true,
		MaxConcurrentActivityExecutionSize: 64})
	model.RegisterActivity(f.Think)
	store.RegisterActivity(f.Store)
	store.RegisterActivity(f.Finish)
	for _, w := range []worker.Worker{w, model, store} {
		if err := w.Start(); err != nil {
			f.stop()
			return nil, fmt.Errorf("start bare workflow's worker: %w", err)
		}
		f.workers = append(f.workers, w)
	}
	return f, nil
}

func (f *bareFlow) stop() {
	for _, w := range f.workers {
		w.Stop()
	}
}

// Think is an empty model-bound activity.
func (f *bareFlow) Think(context.Context) error { return nil }

// Store is an empty store-bound activity.
func (f *bareFlow) Store(context.Context) error { return nil }

// Finish is the last, store-bound activity. It reports that it has run.
func (f *bareFlow) Finish(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if done, ok := f.done[id]; ok {
		close(done)
		delete(f.done, id)
	}
	return nil
}

// signal signals with start. A signal with work runs the four activities; any other one only wakes the workflow.
func (f *bareFlow) signal(ctx context.Context, id string, work bool) error {
	_, err := f.client.SignalWithStartWorkflow(ctx, id, bareSignal, work,
		client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue, WorkflowTaskTimeout: 10 * time.Second}, bareEntity, id)
	return err
}

// run runs the four activities and waits for the last.
func (f *bareFlow) run(ctx context.Context, id string) error {
	done := make(chan struct{})
	f.mu.Lock()
	f.done[id] = done
	f.mu.Unlock()
	if err := f.signal(ctx, id, true); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awake waits until the workflow has received its first signal.
func (f *bareFlow) awake(ctx context.Context, id string) error {
	return until(ctx, 5*time.Millisecond, "the bare workflow", func(ctx context.Context) (bool, error) {
		v, err := f.client.QueryWorkflow(ctx, id, "", bareQuery)
		if err != nil {
			return false, err
		}
		var taken int
		err = v.Get(&taken)
		return taken > 0, err
	})
}

// bareEntity receives signals until none has come for a while.
func bareEntity(ctx workflow.Context, id string) error {
	taken := 0
	if err := workflow.SetQueryHandler(ctx, bareQuery, func() (int, error) { return taken, nil }); err != nil {
		return err
	}
	signals := workflow.GetSignalChannel(ctx, bareSignal)
	for {
		var work bool
		if ok, _ := signals.ReceiveWithTimeout(ctx, bareLinger, &work); !ok {
			return nil
		}
		taken++
		if !work {
			continue
		}
		if err := fourActivities(ctx, id); err != nil {
			return err
		}
	}
}

func fourActivities(ctx workflow.Context, id string) error {
	var f *bareFlow
	on := func(queue string) workflow.Context {
		return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: queue, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond},
		})
	}
	model, store := on(bareQueueModel), on(bareQueueStore)
	for _, step := range []func() workflow.Future{
		func() workflow.Future { return workflow.ExecuteActivity(model, f.Think) },
		func() workflow.Future { return workflow.ExecuteActivity(store, f.Store) },
		func() workflow.Future { return workflow.ExecuteActivity(model, f.Think) },
		func() workflow.Future { return workflow.ExecuteActivity(store, f.Finish, id) },
	} {
		if err := step().Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
