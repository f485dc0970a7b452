package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fakeTime is a clock that advances only by waits: the pauses, and the uptime of Keep's server.
type fakeTime struct {
	at     time.Time
	lives  time.Duration
	pauses []time.Duration
}

func (f *fakeTime) pace() pace {
	return pace{now: func() time.Time { return f.at }, wait: func(ctx context.Context, d time.Duration) error {
		f.pauses = append(f.pauses, d)
		f.at = f.at.Add(d + f.lives)
		return ctx.Err()
	}}
}

const roleHTTP = "http"

func dyingChild(t *testing.T, log *lockedBuffer, ready error) (_ *Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	return startFake(t, dir, log, ready), dir
}

// startFake starts a server that ends at once with exit code 3 if its directory has the file "dies". ready is then the
// result of its readiness checks.
func startFake(t *testing.T, dir string, log io.Writer, ready error) *Server {
	t.Helper()
	o, err := Options{Dir: dir, Log: log}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	const script = `test -e dies && exit 3; echo something old; exec sleep 3600`
	s, err := StartChild(t.Context(), "fake", o, Spec{
		Roles:   []string{roleHTTP},
		Command: func(Ports) Command { return Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir} },
		Ready: func(context.Context, Ports) error {
			if _, err := os.Stat(filepath.Join(dir, "dies")); err == nil {
				return ready
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return s
}

// killChild ends the server's process from outside.
func killChild(t *testing.T, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "fake.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(raw))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestKeepGivesUpWithOneLine(t *testing.T) {
	for name, ready := range map[string]error{"it dies when it is ready": nil,
		"it is never ready": errors.New("not yet")} {
		t.Run(name, func(t *testing.T) {
			var log lockedBuffer
			s, dir := dyingChild(t, &log, ready)
			killChild(t, dir)
			if err := os.WriteFile(filepath.Join(dir, "dies"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			clock := fakeTime{at: time.Now()}
			err := s.keep(t.Context(), clock.pace())
			var gaveUp *GaveUpError
			if !errors.As(err, &gaveUp) {
				t.Fatalf("got %v, want a GaveUpError", err)
			}
			want := GaveUpError{Server: "fake", Cause: "exit status 3", Log: filepath.Join(dir, "fake.log")}
			if *gaveUp != want {
				t.Errorf("got %+v, want %+v", *gaveUp, want)
			}
			if text := err.Error(); strings.ContainsAny(text, "\n") || strings.Contains(text, "old") ||
				text != "fake is down again after 5 restarts in 10 minutes (exit status 3); its log is "+want.Log {
				t.Errorf("it says %q", text)
			}
			if want := []time.Duration{100, 400, 1600, 6400, 25600}; !slices.Equal(clock.pauses, milliseconds(want)) {
				t.Errorf("it waited %v, want %v ms", clock.pauses, want)
			}
			const line = "fake is down (signal: killed). Restart 1 of at most 5 in 10 minutes begins in 100ms."
			if first, _, _ := strings.Cut(log.String(), "\n"); first != line {
				t.Errorf("the first line is %q", first)
			}
		})
	}
}

func milliseconds(all []time.Duration) []time.Duration {
	out := make([]time.Duration, len(all))
	for i, d := range all {
		out[i] = d * time.Millisecond
	}
	return out
}

// A server that dies every four minutes has at most three restarts in ten minutes, so Keep never gives up.
func TestKeepRestartsAServerOnItsPorts(t *testing.T) {
	var log lockedBuffer
	s, dir := dyingChild(t, &log, nil)
	addr := s.AddrOf(roleHTTP)
	clock := fakeTime{at: time.Now(), lives: 4 * time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- s.keep(ctx, clock.pace()) }()
	for n := range 9 {
		killChild(t, dir)
		for again := "serves again"; strings.Count(log.String(), again) != n+1; {
			select {
			case err := <-kept:
				t.Fatalf("after %d ends: %v", n+1, err)
			case <-time.After(5 * time.Millisecond):
			}
		}
		if s.AddrOf(roleHTTP) != addr || s.Err() != nil {
			t.Fatalf("it is at %s (%v), before at %s", s.AddrOf(roleHTTP), s.Err(), addr)
		}
	}
	cancel()
	if err := <-kept; err != nil {
		t.Errorf("its caller ended it: %v", err)
	}
	if longest := slices.Max(clock.pauses); longest != 6400*time.Millisecond {
		t.Errorf("it waited %v, want at most 6.4 s", clock.pauses)
	}
}

func TestKeepEndsWithItsCaller(t *testing.T) {
	var log lockedBuffer
	s, dir := dyingChild(t, &log, nil)
	ctx, cancel := context.WithCancel(t.Context())
	killChild(t, dir)
	waits := pace{now: time.Now, wait: func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }}
	if err := s.keep(ctx, waits); err != nil {
		t.Errorf("ended while it waits: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context()); err != nil || strings.Contains(log.String(), "serves again") {
		t.Errorf("a server that was stopped: %v, %s", err, log.String())
	}
}

// lockedBuffer takes the lines of servers while a test reads them.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
