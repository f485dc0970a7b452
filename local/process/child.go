package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

const (
	// stopGrace is the time for a child to end by itself, unless the caller's context ends earlier.
	stopGrace = 20 * time.Second
	// readyLimit is the time for a child to become ready. A busy machine needs far more than an idle one.
	readyLimit = 3 * time.Minute
	// probeEvery is the pause between two readiness probes.
	probeEvery = 50 * time.Millisecond
	// probeLimit limits one probe.
	probeLimit = 2 * time.Second
)

// Command is a program with its arguments and environment.
type Command struct {
	// Path is the file of the program.
	Path string
	// Args are the arguments, without the name of the program.
	Args []string
	// Env adds variables to [Environ].
	Env []string
	// Dir is the working directory.
	Dir string
}

// Spec describes a server that runs as a child process.
type Spec struct {
	// Roles name the ports of the server.
	Roles []string
	// Prepare runs before each start; it may be nil.
	Prepare func(ctx context.Context, p Ports) error
	// Command returns the command for the ports.
	Command func(p Ports) Command
	// Ready returns nil when the server answers.
	Ready func(ctx context.Context, p Ports) error
}

// child is one execution of a server as a child process.
type child struct {
	cmd     *exec.Cmd
	pidFile string
	logFile string
	began   int64 // offset of this execution's output in the log file
	gone    chan struct{}
	exit    error // the result of the process; valid once gone is closed
}

// ChildError is an error of a server that runs as a child process.
type ChildError struct {
	// Err is the error in one line: the exit code, the signal, or the reason why the server is not ready.
	Err error
	// Log is the file with all output of the server.
	Log string
	// tail is the end of this execution's output; empty without output.
	tail string
}

// Error returns the error with the last lines that the execution logged.
func (e *ChildError) Error() string {
	if e.tail == "" {
		return e.Err.Error() + "; it logged nothing"
	}
	return e.Err.Error() + "; the end of its log:\n" + e.tail
}

// Unwrap returns the cause.
func (e *ChildError) Unwrap() error { return e.Err }

func (c *child) withLog(err error) error {
	return &ChildError{Err: err, Log: c.logFile, tail: tailOf(c.logFile, c.began)}
}

// StartChild starts a server as a child process and waits until it answers. It can return the errors of [Start]. If the
// process ends or does not answer in time, the error is a [*ChildError].
func StartChild(ctx context.Context, name string, o Options, s Spec) (*Server, error) {
	return Start(ctx, name, o, func(ctx context.Context, p Ports, failed func(error)) (Execution, error) {
		c := &child{pidFile: o.file(name, ".pid"), logFile: o.file(name, ".log"), gone: make(chan struct{})}
		if s.Prepare != nil {
			if err := s.Prepare(ctx, p); err != nil {
				return nil, err
			}
		}
		err := c.fork(s.Command(p), failed)
		if err == nil {
			err = c.awaitReady(ctx, func(ctx context.Context) error { return s.Ready(ctx, p) })
		}
		if err != nil {
			_ = c.Kill()
			return nil, err
		}
		return c, nil
	}, s.Roles...)
}

// fork starts the child and a goroutine that waits for its end. The goroutine keeps its thread. The kernel kills the
// child when the thread that forked it ends, not only when the process ends.
func (c *child) fork(what Command, failed func(error)) error {
	log, err := os.OpenFile(c.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		close(c.gone)
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	if c.began, err = log.Seek(0, io.SeekEnd); err != nil {
		close(c.gone)
		return fmt.Errorf("open log: %w", err)
	}
	c.cmd = exec.Command(what.Path, what.Args...)
	c.cmd.Env = append(Environ(), what.Env...)
	c.cmd.Dir = what.Dir
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.gone)
		if err := c.cmd.Start(); err != nil {
			started <- err
			return
		}
		err := writePid(c.pidFile, c.cmd.Process.Pid)
		if errors.Is(err, os.ErrProcessDone) {
			err = nil // the code below reports the result
		}
		started <- err
		state := c.cmd.Wait()
		if state == nil {
			state = errors.New("exit status 0")
		}
		_ = os.Remove(c.pidFile)
		c.exit = c.withLog(state)
		failed(c.exit)
	}()
	return <-started
}

// awaitReady polls until the server answers, the child ends, or time is up.
func (c *child) awaitReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		probe, done := context.WithTimeout(ctx, probeLimit)
		err := ready(probe)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-c.gone:
			return fmt.Errorf("%w: %w", ErrExited, c.exit)
		case <-ctx.Done():
			return c.withLog(fmt.Errorf("not ready: %w (last answer: %w)", ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// Stop sends the child a request to end. It kills the child after 20 seconds, or when ctx ends.
func (c *child) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	_ = askToEnd(c.cmd.Process)
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return c.Kill()
	}
}

// Kill ends the child at once. An ended child is no error.
func (c *child) Kill() error {
	if c.cmd != nil && c.cmd.Process != nil {
		_ = c.cmd.Process.Kill()
	}
	<-c.gone
	return nil
}

// Environ is the part of this process's environment that children inherit. It excludes API keys and settings of other
// programs.
func Environ() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "USER", "LANG", "TZ", "JAVA_HOME", "GOMAXPROCS",
		"GOMEMLIMIT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
