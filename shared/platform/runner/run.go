package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Options are the inputs of a run.
type Options struct {
	// Environ has the settings. nil means the environment of the process.
	Environ map[string]string
	// Stderr takes the log lines. nil means standard error.
	Stderr io.Writer
	// OnListen, if set, gets the address once the server listens, before the build of the service.
	OnListen func(addr string)
}

func (o Options) filled() Options {
	if o.Environ == nil {
		o.Environ = config.Environ()
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	return o
}

// Run runs a service until ctx ends, and then ends it in order. It returns nil after an orderly end, else the
// error, which it has not logged. A wrong configuration gives an error that wraps config.ErrInvalid.
func Run(ctx context.Context, s Service, o Options) error {
	o = o.filled()
	l, err := s.load(o.Environ)
	if err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, s.name, Version(), l.base.Telemetry, o.Stderr)
	if err != nil {
		return err
	}
	for _, unknown := range config.Unrecognized(o.Environ, s.rows) {
		tel.Log.Warn("unknown variable", "variable", unknown.Name, "meant", unknown.Meant)
	}
	p := &process{loaded: l, tel: tel, health: &health{missing: "startup"}}
	err = p.run(ctx, o)
	flush, cancel := p.stage(ctx)
	defer cancel()
	if flushErr := tel.Shutdown(flush); flushErr != nil {
		tel.Log.Warn("telemetry was not flushed", "error", flushErr.Error())
	}
	return err
}

// process is one run of a service.
type process struct {
	loaded
	tel    *telemetry.Telemetry
	health *health
	server *server
}

func (p *process) run(ctx context.Context, o Options) error {
	server, err := listen(ctx, p.base, p.health, p.tel)
	if err != nil {
		return err
	}
	p.server = server
	p.tel.Log.Info("listening", "addr", server.addr, "version", Version())
	if o.OnListen != nil {
		o.OnListen(server.addr)
	}
	app, err := p.buildUntilThere(ctx)
	if err != nil {
		app = &App{}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // a request to end came during the wait for a dependency
		}
		return errors.Join(err, p.stop(ctx, app, startTaskGroup(ctx, nil)))
	}
	server.open(app.Handler)
	tasks := startTaskGroup(ctx, app.Background)
	p.health.ready()
	p.tel.Log.Info("started")
	select {
	case <-ctx.Done():
	case err = <-tasks.failed:
	case err = <-server.failed:
	}
	return errors.Join(err, p.stop(ctx, app, tasks))
}

// buildUntilThere builds the service. It repeats the build while a dependency is missing.
func (p *process) buildUntilThere(ctx context.Context) (*App, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = min(250*time.Millisecond, p.base.RetryMax), p.base.RetryMax
	attempt := 0
	build := func() (*App, error) {
		attempt++
		app, err := p.build(ctx, p.tel)
		if err == nil && app == nil {
			err = fault.Terminal("", "build returned no app")
		}
		if err != nil && (fault.IsTerminal(err) || ctx.Err() != nil) {
			return nil, backoff.Permanent(err)
		}
		return app, err
	}
	notify := func(err error, next time.Duration) {
		p.health.lack(missing(err))
		p.tel.Log.Warn("not started yet", "attempt", attempt, "retry_in", next.Round(time.Millisecond).String(), "error",
			err.Error())
	}
	app, err := backoff.Retry(ctx, build, backoff.WithBackOff(pause), backoff.WithNotify(notify),
		backoff.WithMaxElapsedTime(0))
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	return app, nil
}

// missing is the public part of an error of build.
func missing(err error) string {
	if need, ok := errors.AsType[*NeedError](err); ok {
		return need.Dependency
	}
	return "startup"
}

// stop ends everything in order. A stage that fails or hangs does not keep the next from running.
func (p *process) stop(ctx context.Context, app *App, tasks *taskGroup) error {
	p.health.lack("shutdown")
	p.server.drain()
	p.tel.Log.Info("stopping")
	if p.base.DrainDelay > 0 {
		<-time.After(p.base.DrainDelay)
	}
	errs := []error{p.bounded(ctx, p.server.stop), p.bounded(ctx, tasks.stop)}
	closing, cancel := p.stage(ctx)
	defer cancel()
	for i := len(app.Close) - 1; i >= 0; i-- {
		if err := runUntil(closing, app.Close[i].Run); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", app.Close[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// bounded runs one stage within its time.
func (p *process) bounded(ctx context.Context, stage func(context.Context) error) error {
	ctx, cancel := p.stage(ctx)
	defer cancel()
	return runUntil(ctx, stage)
}

// runUntil runs a step and abandons it when ctx ends, even if the step ignores ctx: the process ends soon. A step
// that begins after the end of ctx still gets a short time.
func runUntil(ctx context.Context, step func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- step(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // the step also saw the end of ctx, and its error has more detail
		return err
	case <-time.After(graceAfterTimeout):
		return fmt.Errorf("did not stop in time: %w", ctx.Err())
	}
}

// graceAfterTimeout is the time for a stage to report its cause.
const graceAfterTimeout = 100 * time.Millisecond

// stage is a context for one stage of the end. The context of the service has ended already.
func (p *process) stage(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), p.base.StopTimeout)
}

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
