package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// keepTries limits the restarts of a server in keepWindow.
	keepTries  = 5
	keepWindow = 10 * time.Minute
	// keepPause is the wait before the first restart. Each further wait in the window is four times as long.
	keepPause = 100 * time.Millisecond
	// keepStart limits one restart, so that five of them fit into the window.
	keepStart = 90 * time.Second
)

// GaveUpError is returned by Keep when restarts have not helped.
type GaveUpError struct {
	// Server is the name of the server.
	Server string
	// Cause is the reason of the server's last end or of its failed start, in one line.
	Cause string
	// Log is the file with the server's output; empty for a server inside this process.
	Log string
}

// Error names the server, the cause and the log.
func (e *GaveUpError) Error() string {
	text := fmt.Sprintf("%s is down again after %d restarts in %.0f minutes (%s)", e.Server, keepTries,
		keepWindow.Minutes(), e.Cause)
	if e.Log != "" {
		text += "; its log is " + e.Log
	}
	return text
}

// pace is the clock of Keep.
type pace struct {
	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error
}

var realPace = pace{now: time.Now, wait: func(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}}

// Keep restarts the server on the same ports and data each time that it ends by itself. It logs each restart to
// Options.Log. It returns nil when ctx ends, and when this value's Stop or Kill ended the server. It returns a
// [*GaveUpError] when the server ends again after five restarts in ten minutes.
func (s *Server) Keep(ctx context.Context) error { return s.keep(ctx, realPace) }

func (s *Server) keep(ctx context.Context, p pace) error {
	var restarts []time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Done():
		}
		err := s.Err()
		if err == nil {
			return nil
		}
		ended := p.now()
		for err != nil {
			for len(restarts) > 0 && p.now().Sub(restarts[0]) >= keepWindow {
				restarts = restarts[1:]
			}
			if len(restarts) == keepTries {
				return s.brief(err)
			}
			pause := keepPause << (2 * len(restarts))
			s.say("%s is down (%s). Restart %d of at most %d in %.0f minutes begins in %v.",
				s.name, s.brief(err).Cause, len(restarts)+1, keepTries, keepWindow.Minutes(), pause)
			if p.wait(ctx, pause) != nil {
				return nil
			}
			restarts = append(restarts, p.now())
			err = s.restartWithin(ctx, keepStart)
			if ctx.Err() != nil {
				return nil
			}
		}
		s.say("%s serves again after %.1f s. Nothing acknowledged is lost.", s.name, p.now().Sub(ended).Seconds())
	}
}

func (s *Server) restartWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.Restart(ctx)
}

// brief returns the server's error in one line, without the end of a child's log.
func (s *Server) brief(err error) *GaveUpError {
	out := &GaveUpError{Server: s.name}
	var child *ChildError
	if errors.As(err, &child) {
		err, out.Log = child.Err, child.Log
	}
	out.Cause = strings.ReplaceAll(err.Error(), "\n", "; ")
	for _, known := range []string{s.name + ": ", "restart " + s.name + ": "} {
		out.Cause = strings.TrimPrefix(out.Cause, known)
	}
	return out
}

// say writes a line for people.
func (s *Server) say(format string, args ...any) { fmt.Fprintf(s.opts.Log, format+"\n", args...) }
