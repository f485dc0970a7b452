package contract

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Limits of the idle time that closes a session.
const (
	MinIdleAfter = time.Second
	MaxIdleAfter = 24 * time.Hour
)

// idleAfter checks an idle time. An absent time is 0.
func idleAfter(p *durationpb.Duration) (time.Duration, error) {
	if p == nil {
		return 0, nil
	}
	d := p.AsDuration()
	if p.CheckValid() != nil || d < MinIdleAfter || d > MaxIdleAfter {
		return 0, fault.Terminal("idle_after", "is %s, want %s to %s", d, MinIdleAfter, MaxIdleAfter)
	}
	return d, nil
}

func idleTo(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
