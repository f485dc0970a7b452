package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
)

// openTries bounds how often new ports are chosen.
const openTries = 3

// execution is one run of a server, as a child process or inside this one.
type execution interface {
	// stop ends it in good order; kill ends it as abruptly as possible. Afterwards nothing listens, no connection is
	// open and no goroutine runs. Only one of them is called, once, and also after the execution ended by itself.
	stop(ctx context.Context) error
	kill() error
}

// opener starts an execution on the ports and returns when it answers. It may call failed, at most once, when the
// execution has ended or cannot go on; the execution is then killed.
type opener func(ctx context.Context, p ports, failed func(error)) (execution, error)

// server is one server over its restarts. Its exported methods are those of every server value.
type server struct {
	name  string
	opts  Options
	roles []string // one port each
	open  opener

	life sync.Mutex // held by Stop, Kill and Restart, so that they do not interleave

	mu    sync.Mutex // guards ports and run
	ports ports
	run   *run
}

// run is one execution and how it ended.
type run struct {
	execution
	lock  *flock.Flock
	once  sync.Once
	ended chan struct{}
	err   error // what Err reports; valid once ended is closed
}

// startServer claims the directory and the ports and opens the server.
func startServer(ctx context.Context, name string, o Options, open opener, roles ...string) (*server, error) {
	s := &server{name: name, opts: o, open: open, roles: roles}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return s, nil
}

// start runs the server anew. The caller holds life, or is the only one who knows s.
func (s *server) start(ctx context.Context) (err error) {
	lock := flock.New(s.opts.file(s.name, ".lock"))
	if got, err := lock.TryLock(); err != nil {
		return fmt.Errorf("lock %s: %w", s.opts.Dir, err)
	} else if !got {
		return fmt.Errorf("%w: a %s runs on %s already", ErrInUse, s.name, s.opts.Dir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Unlock())
		}
	}()
	if err := stopLeftover(ctx, s.opts.file(s.name, ".pid"), s.opts.Log); err != nil {
		return err
	}
	r := &run{lock: lock, ended: make(chan struct{})}
	opened := make(chan struct{})
	defer close(opened)
	claimed, err := s.openOnPorts(ctx, r, func(cause error) {
		// In a goroutine of its own: the execution that reports may have to end before it can be killed.
		go func() {
			<-opened
			if r.execution != nil {
				_ = r.end(fmt.Errorf("%s: %w: %w", s.name, ErrExited, cause), r.kill)
			}
		}()
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports, s.run = claimed, r
	return nil
}

// openOnPorts opens the server on the ports that it had before, or on new ones. Another process can take a port after it was looked at and
// before the server listens: a few times, those that it had are waited for again, and of new ones, which nobody has seen yet, others are
// chosen. Only servers inside this process (broker, Redis) tell that this is why they did not start; a child process has ended then, and
// says so in its log.
func (s *server) openOnPorts(ctx context.Context, r *run, failed func(error)) (ports, error) {
	file := s.opts.file(s.name, ".ports.json")
	for try := 1; ; try++ {
		_, known := os.Stat(file)
		claimed, err := claimPorts(file, s.roles...)
		if err != nil {
			return nil, err
		}
		if r.execution, err = s.open(ctx, claimed, failed); err == nil {
			return claimed, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || try == openTries {
			return nil, err
		}
		if known == nil { // whoever looks for free ports has one for a moment: claimPorts waits for that
			continue
		}
		if removed := os.Remove(file); removed != nil {
			return nil, errors.Join(err, removed)
		}
	}
}

// end ends the run once; later calls wait for the first and return nil.
func (r *run) end(reported error, how func() error) (err error) {
	r.once.Do(func() {
		err = how()
		r.err = reported
		_ = r.lock.Unlock()
		close(r.ended)
	})
	return err
}

func (s *server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// addr is the address of a role, the same over all restarts.
func (s *server) addr(role string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports.addr(role)
}

// Stop asks the server to end and waits for a bounded time. Data stays. Stopping a stopped server does nothing.
func (s *server) Stop(ctx context.Context) error {
	s.life.Lock()
	defer s.life.Unlock()
	return s.stop(ctx)
}

func (s *server) stop(ctx context.Context) error {
	r := s.current()
	return r.end(nil, func() error { return r.execution.stop(ctx) })
}

// Kill ends the server at once, as kill -9 does, and waits until it is gone. Killing a stopped server does nothing.
func (s *server) Kill() error {
	s.life.Lock()
	defer s.life.Unlock()
	r := s.current()
	return r.end(nil, r.kill)
}

// Restart starts the server again on the same ports and data, stopping it first where it still runs, and waits until
// it answers. After an error the server is stopped; Restart may be tried again.
func (s *server) Restart(ctx context.Context) error {
	s.life.Lock()
	defer s.life.Unlock()
	err := s.stop(ctx)
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", s.name, err)
	}
	return nil
}

// Done is closed when the present run has ended. Restart begins a new run with a new channel.
func (s *server) Done() <-chan struct{} { return s.current().ended }

// Err is nil while the server runs and after it was stopped or killed through this value. Otherwise it wraps
// [ErrExited] and says why; for a child process it quotes the last lines of its log.
func (s *server) Err() error {
	r := s.current()
	select {
	case <-r.ended:
		return r.err
	default:
		return nil
	}
}
