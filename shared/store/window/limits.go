package window

import (
	"fmt"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits bound a window. All hold at once.
type Limits struct {
	// Words is how many words the turns of the window have together at most, as Words counts them; the newest stays whatever its length.
	// Turns that were kept have as many words to themselves, so that neither sort crowds the other out.
	Words int
	// Age is how much older than the user's newest turn a turn may be. It is measured in the
	// turns' own time, so that an imported conversation has a window too.
	Age time.Duration
	// Idle is after how long without a write the whole window is forgotten, by the clock.
	Idle time.Duration
}

// DefaultLimits are those of the services: what somebody is likely to have still in mind, in a size that a recall can show.
func DefaultLimits() Limits { return Limits{Words: 600, Age: 72 * time.Hour, Idle: 720 * time.Hour} }

// Validate checks that the limits bound something: at least one word, and times of at least
// a millisecond, which is how exactly back-ends measure age and idleness.
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

// BytesPerWord is about twice what a word has in languages that part words.
const BytesPerWord = 12

// Words counts the words of what a turn says and shows, and at least one for each BytesPerWord bytes: some scripts part no words, and a
// budget of words is one of memory, too.
func Words(t memory.Turn) int {
	bytes := len(t.Text) + len(t.Caption)
	return max(len(strings.Fields(t.Text))+len(strings.Fields(t.Caption)), (bytes+BytesPerWord-1)/BytesPerWord)
}
