// Package dataset reads conversations from files: JSON lines of turns, and the formats of LoCoMo, LongMemEval,
// PersonaMem and HaluMem with their questions. It does not check the contracts' limits. The service checks them for
// every source.
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

// ErrFormat says that a file has no known format or breaks the rules of its format.
var ErrFormat = errors.New("not a readable conversation file")

// byteOrderMark begins UTF-8 files of some editors.
const byteOrderMark = "\xef\xbb\xbf"

// Session is one conversation of a user, its turns in order.
type Session struct {
	// User owns the memory of the session. ID is unique among the user's sessions.
	User, ID string
	Turns    []memory.Turn
	// ClosedAt is the end of the session; zero if the file does not state it.
	ClosedAt time.Time
}

// End returns the end of the session: ClosedAt, or just after its last turn.
func (s Session) End() time.Time {
	if !s.ClosedAt.IsZero() || len(s.Turns) == 0 {
		return s.ClosedAt
	}
	return s.Turns[len(s.Turns)-1].Time.Add(time.Second)
}

// Read reads the sessions of a file. A file that begins with '[' is LoCoMo's; any other file is JSON lines. Sessions
// keep the order of their first turn in the file. ReadSubjects also reads questions and further formats.
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

// plain skips a byte order mark.
func plain(r io.Reader) *bufio.Reader {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, err := b.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark)) // Peek has read the mark already
	}
	return b
}

// firstByte skips space and returns the next character without consuming it.
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
