package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// taskGroup runs the background tasks of a service.
type taskGroup struct {
	cancel context.CancelFunc
	failed chan error // room for every task, so no task blocks
	done   chan struct{}

	mu      sync.Mutex
	running map[string]int
}

func startTaskGroup(ctx context.Context, tasks []Task) *taskGroup {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends by stop alone, after the open requests
	c := &taskGroup{cancel: cancel, failed: make(chan error, len(tasks)), done: make(chan struct{}),
		running: make(map[string]int)}
	var all sync.WaitGroup
	for _, task := range tasks {
		c.count(task.Name, 1)
		all.Go(func() {
			defer c.count(task.Name, -1)
			if err := guarded(ctx, task); err != nil {
				c.failed <- err
			}
		})
	}
	go func() { all.Wait(); close(c.done) }()
	return c
}

// guarded runs a task. A panic becomes an error, so the rest of the service still ends in order.
func guarded(ctx context.Context, task Task) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("background task %s panicked: %v\n%s", task.Name, cause, debug.Stack())
		}
	}()
	err = task.Run(ctx)
	if err == nil || (ctx.Err() != nil && errors.Is(err, context.Canceled)) {
		return nil
	}
	return fmt.Errorf("background task %s: %w", task.Name, err)
}

func (c *taskGroup) count(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[name] += n; c.running[name] == 0 {
		delete(c.running, name)
	}
}

// stop cancels the tasks and waits for them until ctx ends. It returns the errors that were not received before.
func (c *taskGroup) stop(ctx context.Context) error {
	c.cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		names := strings.Join(slices.Sorted(maps.Keys(c.running)), ", ")
		return fmt.Errorf("stop background tasks, still running %s: %w", names, ctx.Err())
	}
	var errs []error
	for len(c.failed) > 0 {
		errs = append(errs, <-c.failed)
	}
	return errors.Join(errs...)
}
