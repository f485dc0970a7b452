// Package dataset reads conversations from files: JSON lines of turns, chat exports, and the formats of LoCoMo,
// LongMemEval, PersonaMem and HaluMem with their questions. It does not check the contracts' limits. The service checks
// them for every source.
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

// Read reads the sessions of a file. The formats are JSON lines of turns, LoCoMo, OpenAI's and LangChain's messages,
// and the exports of ChatGPT and Claude. Sessions keep the order of their first turn in the file. Repairs counts the
// turns that Read skips. ReadSubjects also reads questions and further formats. The error is ErrFormat for any other
// format.
func Read(r io.Reader, o ReadOptions) ([]Session, Repairs, error) {
	var begun bytes.Buffer
	f, err := recognise(io.TeeReader(r, &begun))
	if err != nil {
		return nil, Repairs{}, err
	}
	return readSessions(io.MultiReader(&begun, r), f, o)
}

// readSessions reads a file without questions in a known format.
func readSessions(r io.Reader, f format, o ReadOptions) ([]Session, Repairs, error) {
	switch f {
	case formatTurns:
		return readLines(plain(r))
	case formatMessages, formatChatGPT, formatClaude:
		return readExport(r, f, o)
	case formatLoCoMo:
		samples, err := decodeLoCoMo(plain(r))
		var out []Session
		for _, s := range samples {
			out = append(out, s.sessions...)
		}
		return out, Repairs{}, err
	}
	return nil, Repairs{}, fmt.Errorf("%w: it is %s, which has questions; want %s", ErrFormat, f, taken)
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
