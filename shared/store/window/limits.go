package window

import (
	"fmt"
	"time"
)

// Validate checks that the limits bound something: at least one turn, and times of at least
// a millisecond, which is how exactly back-ends measure age and idleness.
func (l Limits) Validate() error {
	switch {
	case l.Turns < 1:
		return fmt.Errorf("window limits: turns is %d, want at least 1", l.Turns)
	case l.Age < time.Millisecond:
		return fmt.Errorf("window limits: age is %s, want at least 1ms", l.Age)
	case l.Idle < time.Millisecond:
		return fmt.Errorf("window limits: idle is %s, want at least 1ms", l.Idle)
	}
	return nil
}
