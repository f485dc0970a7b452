package inmem_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/checkpoint/checkpointtest"
	"github.com/mneme-memory/mneme/lab/checkpoint/inmem"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	checkpointtest.Run(t, func(t *testing.T, ttl time.Duration) checkpointtest.Backend {
		var ahead atomic.Int64 // added to a clock that stands still
		start := time.Now()
		s, err := inmem.New(ttl, func() time.Time { return start.Add(time.Duration(ahead.Load())) })
		if err != nil {
			t.Fatal(err)
		}
		return checkpointtest.Backend{Store: s, Advance: func(d time.Duration) { ahead.Add(int64(d)) }}
	})
}

func TestNewRefusesNoTime(t *testing.T) {
	if _, err := inmem.New(0, nil); !fault.IsTerminal(err) {
		t.Errorf("accepted: %v", err)
	}
}
