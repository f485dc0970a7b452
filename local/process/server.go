package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
)

// openTries limits the choices of new ports.
const openTries = 3

// Execution is one run of a server, in a child process or inside this one. After Stop or Kill, no port, connection or
// goroutine remains. A [Server] calls only one of them, once. The execution may have ended by itself before.
type Execution interface {
	// Stop ends the run in order.
	Stop(ctx context.Context) error
	// Kill ends the run as abruptly as possible.
	Kill() error
}

// Opener starts an execution on the ports and returns when it answers. It may call failed, at most once, when the
// execution has ended or cannot continue. The caller then kills the execution.
type Opener func(ctx context.Context, p Ports, failed func(error)) (Execution, error)

// Server is one server over its restarts. The values of all servers embed it.
type Server struct {
	name  string
	opts  Options
	roles []string // one port per role
	open  Opener

	life sync.Mutex // Stop, Kill and Restart hold it, so that they do not interleave

	mu    sync.Mutex // guards ports and run
	ports Ports
	run   *run
}

// run is one execution with its result.
type run struct {
	Execution
	lock  *flock.Flock
	once  sync.Once
	ended chan struct{}
	err   error // the result of Err; valid once ended is closed
}

// Start claims the directory and the ports, and opens the server. The options come from [Options.Prepare]. Each role
// has one port. If another process or value runs the server on the directory, the error is [ErrInUse].
func Start(ctx context.Context, name string, o Options, open Opener, roles ...string) (*Server, error) {
	s := &Server{name: name, opts: o, open: open, roles: roles}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return s, nil
}

// start runs the server again. The caller holds life, or no other goroutine uses s.
func (s *Server) start(ctx context.Context) (err error) {
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
		// In a separate goroutine, because the reporting execution may have to end before it can be killed.
		go func() {
			<-opened
			if r.Execution != nil {
				_ = r.end(fmt.Errorf("%s: %w: %w", s.name, ErrExited, cause), r.Kill)
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

// openOnPorts opens the server on its previous ports, or on new ones. Another process can take a port before the
// server listens. It then waits for the previous ports a few times. New ports, which no client has seen, are replaced
// by others. Only servers inside this process (broker, Redis) report a taken port. A child process ends instead and
// writes the reason to its log.
func (s *Server) openOnPorts(ctx context.Context, r *run, failed func(error)) (Ports, error) {
	file := s.opts.PortsFile(s.name)
	for try := 1; ; try++ {
		_, known := os.Stat(file)
		claimed, err := claimPorts(file, s.roles...)
		if err != nil {
			return nil, err
		}
		if r.Execution, err = s.open(ctx, claimed, failed); err == nil {
			return claimed, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || try == openTries {
			return nil, err
		}
		if known == nil { // a search for free ports holds one for a moment: claimPorts waits for that
			continue
		}
		if removed := os.Remove(file); removed != nil {
			return nil, errors.Join(err, removed)
		}
	}
}

// end ends the run once. Later calls wait for the first and return nil.
func (r *run) end(reported error, how func() error) (err error) {
	r.once.Do(func() {
		err = how()
		r.err = reported
		_ = r.lock.Unlock()
		close(r.ended)
	})
	return err
}

func (s *Server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// AddrOf is the host:port of a role, the same over all restarts.
func (s *Server) AddrOf(role string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports.Addr(role)
}

// Stop asks the server to end and waits for a bounded time. Data stays. Stopping a stopped server does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.life.Lock()
	defer s.life.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	r := s.current()
	return r.end(nil, func() error { return r.Stop(ctx) })
}

// Kill ends the server at once, as kill -9 does, and waits for the end. For a stopped server it does nothing.
func (s *Server) Kill() error {
	s.life.Lock()
	defer s.life.Unlock()
	r := s.current()
	return r.end(nil, r.Kill)
}

// Restart starts the server again on the same ports and data. It stops a running server first, and waits until the
// new run answers. After an error the server is stopped, and Restart may be called again.
func (s *Server) Restart(ctx context.Context) error {
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
func (s *Server) Done() <-chan struct{} { return s.current().ended }

// Err is nil while the server runs and after a stop or kill through this value. Otherwise it wraps [ErrExited] with
// the reason. For a child process it quotes the last lines of its log.
func (s *Server) Err() error {
	r := s.current()
	select {
	case <-r.ended:
		return r.err
	default:
		return nil
	}
}
