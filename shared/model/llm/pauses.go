package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// maxLater is the longest that a server's wish to wait is heeded for at a time.
const maxLater = time.Hour

// errPaused is what is waited for here.
var errPaused = fmt.Errorf("%w: it asked to wait", ErrUnavailable)

// pauses are the times until which the endpoint asked not to be asked, by model. They hold for all tenants, who have one key here.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// begin notes that a model is to be left alone for a while.
func (p *pauses) begin(model string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := time.Now().Add(min(d, maxLater)); at.After(p.until[model]) {
		p.until[model] = at
	}
}

// left is how long a model is still to be left alone.
func (p *pauses) left(model string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.until[model])
	if left <= 0 {
		delete(p.until, model)
	}
	return left
}

// wait returns when the model may be asked. Who would wait for longer than most, or is not that patient, gets a fault.LaterError.
func (p *pauses) wait(ctx context.Context, model string, most time.Duration) error {
	for {
		left := p.left(model)
		if left <= 0 {
			return nil
		}
		if left > most || fault.Impatient(ctx, left) {
			return &fault.LaterError{After: left, Err: errPaused}
		}
		if err := sleep(ctx, left); err != nil {
			return err
		}
	}
}

// sleep waits for a while, or until nobody waits any more.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
