package harness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	// Patience is the time limit of every wait. It is far longer than usual, for busy machines.
	Patience = 60 * time.Second
	// pollEvery is the pause between two checks of a condition.
	pollEvery = 50 * time.Millisecond
	logTail   = 4000
	// complaints is the number of log lines of a service to show.
	complaints = 10
)

// Await waits until the condition holds; an error of the condition ends the test at once.
func Await(tb testing.TB, what string, condition func(context.Context) (bool, error)) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := poll(ctx, condition); err != nil {
		tb.Fatalf("waiting until %s: %v", what, err)
	}
}

func poll(ctx context.Context, condition func(context.Context) (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		ok, err := condition(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (s *System) unit(tb testing.TB, service string) *unit {
	tb.Helper()
	u, ok := s.units[service]
	if !ok {
		tb.Fatalf("no service %q", service)
	}
	return u
}

// Kill ends a service as kill -9 does; it must be a process.
func (s *System) Kill(tb testing.TB, service string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := s.unit(tb, service).kill(ctx); err != nil {
		tb.Fatal(err)
	}
}

// Stop ends a service in order.
func (s *System) Stop(tb testing.TB, service string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := s.unit(tb, service).stop(ctx); err != nil {
		tb.Fatal(err)
	}
}

// Launch starts a stopped or killed service at its old address, without waiting until it is ready.
func (s *System) Launch(tb testing.TB, service string) {
	tb.Helper()
	if err := s.unit(tb, service).start(); err != nil {
		tb.Fatal(err)
	}
}

// AwaitReady waits until a service reports that it is ready.
func (s *System) AwaitReady(tb testing.TB, service string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := s.awaitReady(ctx, s.unit(tb, service)); err != nil {
		tb.Fatal(err)
	}
}

// Restart stops a running service, starts it again at its old address and waits until it is ready.
func (s *System) Restart(tb testing.TB, service string) {
	tb.Helper()
	s.Stop(tb, service)
	s.Launch(tb, service)
	s.AwaitReady(tb, service)
}

// Log returns a service's log since the system's start, over its restarts.
func (s *System) Log(tb testing.TB, service string) string {
	tb.Helper()
	content, err := os.ReadFile(s.unit(tb, service).logPath)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// Metrics returns a service's Prometheus exposition.
func (s *System) Metrics(tb testing.TB, service string) string {
	tb.Helper()
	res, err := s.client.Get("http://" + s.unit(tb, service).addr + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err = errors.Join(err, statusError(res)); err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

func statusError(res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	return errors.New(res.Status)
}

// URL is the base URL of a service.
func (s *System) URL(tb testing.TB, service string) string {
	tb.Helper()
	return "http://" + s.unit(tb, service).addr
}

// HTTP is a client whose connections are closed with the system.
func (s *System) HTTP() *http.Client { return s.client }

// Complaints returns the latest warnings and errors in the services' logs, for the message of a failed run.
func (s *System) Complaints() string {
	var out strings.Builder
	for name, u := range s.units {
		var lines []string
		for line := range strings.Lines(tail(u.logPath, 1<<20)) {
			if strings.Contains(line, `"WARN"`) || strings.Contains(line, `"ERROR"`) {
				lines = append(lines, line)
			}
		}
		out.WriteString("complaints of " + name + ":\n")
		out.WriteString(strings.Join(lines[max(0, len(lines)-complaints):], ""))
	}
	return out.String()
}
