package servers

import (
	"context"
	"fmt"
	"sync"

	"github.com/gofrs/flock"
)

// instance is one execution of a server inside this process.
type instance interface {
	// stop ends it in good order; kill ends it as abruptly as possible. Afterwards nothing listens, no connection is
	// open and no goroutine runs. Only one of them is called, once.
	stop(ctx context.Context) error
	kill() error
}

// opener starts an instance on the ports. It may call failed, at most once, when the instance cannot go on; the
// instance is then killed.
type opener func(ctx context.Context, p ports, failed func(error)) (instance, error)

// inProcess is one server inside this process, over its restarts. It has the life of a child process.
type inProcess struct {
	name  string
	opts  Options
	roles []string
	open  opener
	ports ports

	life sync.Mutex // held by Stop, Kill and Restart, so that they do not interleave

	mu  sync.Mutex // guards run
	run *inRun
}

// inRun is one execution.
type inRun struct {
	instance instance
	lock     *flock.Flock
	once     sync.Once
	ended    chan struct{}
	err      error // what Err reports; valid once ended is closed
}

// startInProcess claims the directory and the ports and opens the server.
func startInProcess(ctx context.Context, s *inProcess) error {
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	return nil
}

func (s *inProcess) start(ctx context.Context) error {
	lock, err := claimDir(s.opts, s.name)
	if err != nil {
		return err
	}
	r := &inRun{lock: lock, ended: make(chan struct{})}
	opened := make(chan struct{})
	defer close(opened)
	s.ports, err = claimPorts(s.opts.file(s.name, ".ports.json"), s.roles...)
	if err == nil {
		r.instance, err = s.open(ctx, s.ports, func(cause error) {
			// In a goroutine of its own: the instance that reports may have to end before it can be killed.
			go func() {
				<-opened
				r.end(fmt.Errorf("%s: %w: %w", s.name, ErrExited, cause), r.kill)
			}()
		})
	}
	if err != nil {
		_ = lock.Unlock()
		return err
	}
	s.mu.Lock()
	s.run = r
	s.mu.Unlock()
	return nil
}

func (r *inRun) kill() error { return r.instance.kill() }

// end ends the run once; later calls wait for the first and return nil.
func (r *inRun) end(reported error, how func() error) (err error) {
	r.once.Do(func() {
		err = how()
		r.err = reported
		_ = r.lock.Unlock()
		close(r.ended)
	})
	return err
}

func (s *inProcess) current() *inRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Stop ends the server in good order. Data stays. Stopping a stopped server does nothing.
func (s *inProcess) Stop(ctx context.Context) error {
	s.life.Lock()
	defer s.life.Unlock()
	return s.stop(ctx)
}

func (s *inProcess) stop(ctx context.Context) error {
	r := s.current()
	return r.end(nil, func() error { return r.instance.stop(ctx) })
}

// Kill cuts all connections at once and ends the server. Killing a stopped server does nothing.
func (s *inProcess) Kill() error {
	s.life.Lock()
	defer s.life.Unlock()
	r := s.current()
	return r.end(nil, r.kill)
}

// Restart starts the server again on the same ports and data, stopping it first where it still runs. After an error
// the server is stopped; Restart may be tried again.
func (s *inProcess) Restart(ctx context.Context) error {
	s.life.Lock()
	defer s.life.Unlock()
	if err := s.stop(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", s.name, err)
	}
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", s.name, err)
	}
	return nil
}

// Done is closed when the present run has ended. Restart begins a new run with a new channel.
func (s *inProcess) Done() <-chan struct{} { return s.current().ended }

// Err is nil while the server runs and after it was stopped or killed through this value; otherwise it wraps
// [ErrExited].
func (s *inProcess) Err() error {
	r := s.current()
	select {
	case <-r.ended:
		return r.err
	default:
		return nil
	}
}
