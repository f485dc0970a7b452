package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	// stopGrace is how long a child may take to end by itself when the caller's context sets no earlier limit.
	stopGrace = 20 * time.Second
	// readyLimit is how long a child may take until it answers; a busy machine needs far more than an idle one.
	readyLimit = 3 * time.Minute
	// probeEvery is the pause between two questions whether a child is ready.
	probeEvery = 50 * time.Millisecond
	// probeLimit bounds one such question.
	probeLimit = 2 * time.Second
)

// command is what to execute.
type command struct {
	path string
	args []string
	env  []string // added to what every child inherits
	dir  string
}

// spec describes a server that runs as a child process.
type spec struct {
	name    string
	opts    Options
	roles   []string                                 // one port each
	command func(ports) command                      // what to run on these ports
	ready   func(ctx context.Context, p ports) error // nil once the server answers
	prepare func(ctx context.Context, p ports) error // before each start; may be nil
}

// process is one server as a child process, over its restarts. Its exported methods are those of every server value.
type process struct {
	spec  spec
	ports ports

	life sync.Mutex // held by Stop, Kill and Restart, so that they do not interleave

	mu  sync.Mutex // guards run
	run *run
}

// run is one execution of a child.
type run struct {
	cmd    *exec.Cmd
	lock   *flock.Flock
	ended  chan struct{} // closed after err is set and the lock is free
	asked  chan struct{} // closed when the end was asked for
	askedO sync.Once
	err    error // what Err reports; valid once ended is closed
}

// startProcess claims the directory and the ports, starts the child and waits until it answers.
func startProcess(ctx context.Context, s spec) (*process, error) {
	p := &process{spec: s}
	if err := p.start(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	return p, nil
}

// start runs the child anew and waits until it answers. The caller holds life, or is the only one who knows p.
func (p *process) start(ctx context.Context) error {
	lock, err := claimDir(p.spec.opts, p.spec.name)
	if err != nil {
		return err
	}
	r, err := p.launch(ctx, lock)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	p.mu.Lock()
	p.run = r
	p.mu.Unlock()
	if err := p.awaitReady(ctx, r); err != nil {
		r.kill()
		<-r.ended
		return err
	}
	return nil
}

// launch stops what an earlier run left behind, then forks.
func (p *process) launch(ctx context.Context, lock *flock.Flock) (*run, error) {
	s := p.spec
	pidFile := s.opts.file(s.name, ".pid")
	if err := stopLeftover(ctx, pidFile, s.opts.Log); err != nil {
		return nil, err
	}
	claimed, err := claimPorts(s.opts.file(s.name, ".ports.json"), s.roles...)
	if err != nil {
		return nil, err
	}
	p.ports = claimed
	if s.prepare != nil {
		if err := s.prepare(ctx, claimed); err != nil {
			return nil, err
		}
	}
	logFile, err := os.OpenFile(s.opts.file(s.name, ".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer logFile.Close()
	c := s.command(claimed)
	cmd := exec.Command(c.path, c.args...)
	cmd.Env = append(inheritedEnv(), c.env...)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = childAttributes()
	r := &run{cmd: cmd, lock: lock, ended: make(chan struct{}), asked: make(chan struct{})}
	if err := r.fork(s, pidFile); err != nil {
		return nil, err
	}
	return r, nil
}

// fork starts the child and a goroutine that waits for its end. The goroutine keeps its thread, because the kernel
// kills the child when the thread that forked it ends, not only when the process does.
func (r *run) fork(s spec, pidFile string) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := r.cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- writePid(pidFile, r.cmd.Process.Pid)
		r.finish(s, pidFile, r.cmd.Wait())
	}()
	err := <-started
	if err != nil && r.cmd.Process != nil {
		r.kill()
		<-r.ended
	}
	return err
}

// finish records how the run ended and gives the directory free.
func (r *run) finish(s spec, pidFile string, waitErr error) {
	defer close(r.ended)
	select {
	case <-r.asked:
	default:
		state := "exit status 0"
		if waitErr != nil {
			state = waitErr.Error()
		}
		r.err = fmt.Errorf("%s: %w (%s); the end of its log:\n%s", s.name, ErrExited, state, tailOf(s.opts.file(s.name, ".log")))
	}
	_ = os.Remove(pidFile)
	_ = r.lock.Unlock()
}

// ask marks the end as wanted.
func (r *run) ask() { r.askedO.Do(func() { close(r.asked) }) }

// kill ends the child at once and marks the end as wanted. A child that is gone already is no error.
func (r *run) kill() {
	r.ask()
	_ = r.cmd.Process.Kill()
}

// awaitReady polls until the server answers, the child ends, or time is up.
func (p *process) awaitReady(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var last error
	for {
		probe, done := context.WithTimeout(ctx, probeLimit)
		err := p.spec.ready(probe, p.ports)
		done()
		if err == nil {
			return nil
		}
		last = err
		select {
		case <-r.ended:
			return r.err
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w (last answer: %w); the end of its log:\n%s",
				ctx.Err(), last, tailOf(p.spec.opts.file(p.spec.name, ".log")))
		case <-tick.C:
		}
	}
}

// current is the latest run.
func (p *process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// Stop asks the server to end and waits; after 20 seconds, or when ctx ends, it is killed. Data stays. Stopping a
// stopped server does nothing. The error is nil once the process is gone, however that came about.
func (p *process) Stop(ctx context.Context) error {
	p.life.Lock()
	defer p.life.Unlock()
	return p.stop(ctx)
}

func (p *process) stop(ctx context.Context) error {
	r := p.current()
	r.ask()
	_ = askToEnd(r.cmd.Process)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-r.ended:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	r.kill()
	<-r.ended
	return nil
}

// Kill ends the server at once, as kill -9 does, and waits until the process is gone. Killing a stopped server does
// nothing.
func (p *process) Kill() error {
	p.life.Lock()
	defer p.life.Unlock()
	r := p.current()
	r.kill()
	<-r.ended
	return nil
}

// Restart starts the server again on the same ports and data, stopping it first where it still runs, and waits until
// it answers. After an error the server is stopped; Restart may be tried again.
func (p *process) Restart(ctx context.Context) error {
	p.life.Lock()
	defer p.life.Unlock()
	if err := p.stop(ctx); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", p.spec.name, err)
	}
	return nil
}

// Done is closed when the present run has ended. Restart begins a new run with a new channel.
func (p *process) Done() <-chan struct{} { return p.current().ended }

// Err is nil while the server runs and after it was stopped or killed through this value. Otherwise it wraps
// [ErrExited] and quotes the last log lines.
func (p *process) Err() error {
	r := p.current()
	select {
	case <-r.ended:
		return r.err
	default:
		return nil
	}
}

// claimDir makes sure that nobody else runs the server on the directory.
func claimDir(o Options, name string) (*flock.Flock, error) {
	lock := flock.New(o.file(name, ".lock"))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", o.Dir, err)
	}
	if !got {
		return nil, fmt.Errorf("%w: a %s runs on %s already", ErrInUse, name, o.Dir)
	}
	return lock, nil
}

// inheritedEnv is the part of the environment that children get. API keys and settings meant for other programs stay
// here.
func inheritedEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "USER", "LANG", "TZ", "JAVA_HOME", "GOMAXPROCS", "GOMEMLIMIT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// progressf writes one line for people.
func progressf(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
