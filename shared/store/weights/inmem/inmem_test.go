package inmem_test

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/store/weights/inmem"
	"github.com/mneme-memory/mneme/shared/store/weights/weightstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that tests advance.
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
	weightstest.Run(t, func(t *testing.T, l weights.Limits) weightstest.Backend {
		c := &clock{now: time.Now()}
		s, err := inmem.New(l, c.Now)
		if err != nil {
			t.Fatal(err)
		}
		return weightstest.Backend{Store: s, Advance: c.Advance}
	})
}

func TestNewRefusesLimits(t *testing.T) {
	if _, err := inmem.New(weights.Limits{Versions: 1, Traces: 1, TraceTTL: time.Millisecond}, nil); err != nil {
		t.Fatalf("smallest limits: %v", err)
	}
	for name, l := range map[string]weights.Limits{
		"no versions": {Traces: 1, TraceTTL: time.Hour},
		"no traces":   {Versions: 1, TraceTTL: time.Hour},
		"no TTL":      {Versions: 1, Traces: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := inmem.New(l, nil); err == nil {
				t.Fatal("accepted")
			}
		})
	}
}
