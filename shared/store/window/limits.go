package window

import (
	"fmt"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits limit a window. All hold at once.
type Limits struct {
	// Words is the maximum number of words in the window, counted by the function Words. The newest turn stays at any
	// length. Kept turns have a separate budget of the same size, so that neither kind displaces the other.
	Words int
	// Age is the maximum age of a turn compared with the user's newest turn. It uses the turns' time, so that an
	// imported conversation has a window, too.
	Age time.Duration
	// Idle is the time without a write after which the whole window is deleted, by the clock.
	Idle time.Duration
}

// DefaultLimits returns the limits of the services: about the turns that a user still remembers, in a size that a
// recall can show.
func DefaultLimits() Limits { return Limits{Words: 600, Age: 72 * time.Hour, Idle: 720 * time.Hour} }

// Validate checks that the limits are positive: at least one word, and times of at least a millisecond, the precision
// of stores.
func (l Limits) Validate() error {
	switch {
	case l.Words < 1:
		return fmt.Errorf("window limits: words is %d, want at least 1", l.Words)
	case l.Age < time.Millisecond:
		return fmt.Errorf("window limits: age is %s, want at least 1ms", l.Age)
	case l.Idle < time.Millisecond:
		return fmt.Errorf("window limits: idle is %s, want at least 1ms", l.Idle)
	}
	return nil
}

// BytesPerWord is about twice the length of a word in languages with spaces between words.
const BytesPerWord = 12

// Words returns the number of words in a turn's text and caption, and at least one per BytesPerWord bytes. Some
// scripts have no spaces between words, and a budget of words also limits the memory use.
func Words(t memory.Turn) int {
	bytes := len(t.Text) + len(t.Caption)
	return max(len(strings.Fields(t.Text))+len(strings.Fields(t.Caption)), (bytes+BytesPerWord-1)/BytesPerWord)
}
