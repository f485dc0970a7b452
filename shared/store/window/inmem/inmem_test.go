package inmem_test

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/shared/store/window/windowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConformance(t *testing.T) {
	windowtest.Run(t, func(t *testing.T, l window.Limits) windowtest.Backend {
		c := &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
		w, err := inmem.New(l, c.Now)
		if err != nil {
			t.Fatal(err)
		}
		return windowtest.Backend{Window: w, Advance: c.Advance}
	})
}

func TestNewRefusesLimits(t *testing.T) {
	good := window.Limits{Words: 1, Age: time.Millisecond, Idle: time.Millisecond}
	if _, err := inmem.New(good, nil); err != nil {
		t.Fatalf("smallest limits: %v", err)
	}
	for name, l := range map[string]window.Limits{
		"no words": {Age: time.Hour, Idle: time.Hour},
		"no age":   {Words: 1, Idle: time.Hour},
		"no idle":  {Words: 1, Age: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := inmem.New(l, nil); err == nil {
				t.Fatal("accepted")
			}
		})
	}
}
