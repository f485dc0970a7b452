package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// maxLater is the longest pause that the client grants a server at a time.
const maxLater = time.Hour

// errPaused names the awaited condition.
var errPaused = fmt.Errorf("%w: it asked to wait", ErrUnavailable)

// pauses are the times until which the endpoint requested a pause, by model. They apply to all tenants, who share
// one key here.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// begin starts a pause of a model.
func (p *pauses) begin(model string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := time.Now().Add(min(d, maxLater)); at.After(p.until[model]) {
		p.until[model] = at
	}
}

// remaining is the remaining pause of a model.
func (p *pauses) remaining(model string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.until[model])
	if left <= 0 {
		delete(p.until, model)
	}
	return left
}

// wait returns when requests to the model are allowed again. It returns a fault.LaterError to a caller that would
// wait longer than most, or longer than its patience.
func (p *pauses) wait(ctx context.Context, model string, most time.Duration) error {
	for {
		left := p.remaining(model)
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

// sleep waits for a while, or until ctx is done.
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
