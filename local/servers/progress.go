package servers

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"
)

// progressEvery is the pause between two progress lines of a long step.
const progressEvery = 10 * time.Second

// ReportProgress writes a line now and then every few seconds. Each line has the time since the start, and the state
// if it is not nil. The returned function writes the last line and ends it. Writes do not overlap.
func ReportProgress(w io.Writer, what, note string, state func() string) (done func(err error)) {
	start := time.Now()
	elapsed := func() time.Duration { return time.Since(start).Round(time.Second) }
	fmt.Fprintf(w, "%s (%s)\n", what, note)
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				line := fmt.Sprintf("%s: %s", what, elapsed())
				if state != nil {
					line += ", " + state()
				}
				fmt.Fprintln(w, line)
			}
		}
	})
	return func(err error) {
		close(stop)
		ended.Wait()
		outcome := "done"
		if err != nil {
			outcome = "stopped with an error"
		}
		fmt.Fprintf(w, "%s: %s after %s\n", what, outcome, elapsed())
	}
}

// compilation is the output of `go build -v`. It counts the names of packages that the compiler has begun, and keeps
// all other lines.
type compilation struct {
	total int

	mu      sync.Mutex
	stale   map[string]bool // the packages that the compiler has not begun
	partial []byte          // a line without its end
	other   bytes.Buffer
}

// Write implements io.Writer.
func (c *compilation) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = append(c.partial, p...)
	for {
		line, rest, whole := bytes.Cut(c.partial, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		c.partial = rest
		if name := strings.TrimSpace(string(line)); c.stale[name] {
			delete(c.stale, name)
		} else {
			c.other.Write(append(line, '\n'))
		}
	}
}

// state says how many packages the compiler has begun.
func (c *compilation) state() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.stale) == 0 {
		return "linking"
	}
	return fmt.Sprintf("package %d of %d", c.total-len(c.stale), c.total)
}

// rest returns all output except the names of packages.
func (c *compilation) rest() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(c.other.Bytes(), c.partial...)
}

// work is the processor time of a build; zero is unknown. One machine measured it, so it is an estimate.
type work time.Duration

// usually says how long a build of some of the packages takes on this machine's processors.
func (w work) usually(packages, all int) string {
	return w.on(runtime.NumCPU(), packages, all)
}

func (w work) on(processors, packages, all int) string {
	of := fmt.Sprintf("%d packages to compile", packages)
	if w == 0 || all == 0 {
		return of + ", takes minutes the first time"
	}
	wall := time.Duration(w) * time.Duration(packages) / time.Duration(all) / time.Duration(processors)
	if wall < time.Minute {
		return of + ", usually takes less than a minute"
	}
	minutes := int((wall + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%s, usually takes %d minutes on %d free processors", of, minutes, processors)
}
