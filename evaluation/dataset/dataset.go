// Package dataset reads conversations from files: JSON lines of turns, and the formats of LoCoMo, LongMemEval, PersonaMem and HaluMem with
// their questions. What it returns has not been checked against the contracts' limits; the service does that, for files as for everything
// else.
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
	// User owns the memory of it; ID tells it from the user's others.
	User, ID string
	Turns    []memory.Turn
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

// Read reads the sessions of a file: one that begins with '[' is LoCoMo's, anything else is JSON lines. Sessions come in the order of
// their first turn in the file. ReadSubjects also reads questions, and further formats.
func Read(r io.Reader) ([]Session, error) {
	b := plain(r)
	c, err := firstByte(b)
	if err != nil {
		return nil, err
	}
	if c != '[' {
		return readLines(b)
	}
	samples, err := decodeLoCoMo(b)
	var out []Session
	for _, s := range samples {
		out = append(out, s.sessions...)
	}
	return out, err
}

// plain passes over a byte order mark.
func plain(r io.Reader) *bufio.Reader {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, err := b.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark)) // it was peeked, so it is there
	}
	return b
}

// firstByte passes over space and returns what comes then, which is still to be read.
func firstByte(b *bufio.Reader) (byte, error) {
	for {
		c, err := b.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("%w: it is empty", ErrFormat)
		}
		if err != nil {
			return 0, fmt.Errorf("read conversation file: %w", err)
		}
		if bytes.IndexByte([]byte(" \t\r\n"), c) < 0 {
			return c, b.UnreadByte()
		}
	}
}
