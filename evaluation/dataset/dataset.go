// Package dataset reads conversations from files: JSON lines of turns, and LoCoMo's own format.
// What it returns has not been checked against the contracts' limits; the service does that,
// for files as for everything else.
package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// ErrFormat says that a file is in none of the known formats, or breaks the rules of its own.
var ErrFormat = errors.New("not a readable conversation file")

// byteOrderMark begins UTF-8 files of some editors.
const byteOrderMark = "\xef\xbb\xbf"

// Session is one conversation of a user, its turns in order.
type Session struct {
	User  string
	ID    string
	Turns []memory.Turn
	// ClosedAt is when it ended; zero when the file does not say.
	ClosedAt time.Time
}

// End is when the session ended: ClosedAt, or just after its last turn.
func (s Session) End() time.Time {
	if !s.ClosedAt.IsZero() || len(s.Turns) == 0 {
		return s.ClosedAt
	}
	return s.Turns[len(s.Turns)-1].Time.Add(time.Second)
}

// Read reads a file of either format: one that begins with '[' is LoCoMo's, anything else is JSON
// lines. Sessions come in the order of their first turn in the file.
func Read(r io.Reader) ([]Session, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, err := b.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark)) // it was peeked, so it is there
	}
	for {
		c, err := b.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: it is empty", ErrFormat)
		case err != nil:
			return nil, fmt.Errorf("read conversation file: %w", err)
		case bytes.IndexByte([]byte(" \t\r\n"), c) >= 0:
			continue
		}
		if err := b.UnreadByte(); err != nil {
			return nil, fmt.Errorf("read conversation file: %w", err)
		}
		if c == '[' {
			return readLoCoMo(b)
		}
		return readLines(b)
	}
}
