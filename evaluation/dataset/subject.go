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
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// shortAnswer is the highest number of content words of a short answer. Only short answers are searched for in
// memories.
const shortAnswer = 3

// Subject is one user's conversations with their ground truth.
type Subject struct {
	// Scope identifies the subject's bank.
	Scope memory.Scope
	// Sessions are in order of time.
	Sessions []Session
	// Questions may be asked after the sessions.
	Questions []Question
	// Targets are the expected operations, in the order of the turns that state them. Empty means unknown.
	Targets []Target
}

// TurnIDs returns the ids of all turns.
func (s Subject) TurnIDs() map[string]bool {
	out := map[string]bool{}
	for _, session := range s.Sessions {
		for _, t := range session.Turns {
			out[t.ID] = true
		}
	}
	return out
}

// Assisted reports whether an assistant takes part in the conversations.
func (s Subject) Assisted() bool {
	return slices.ContainsFunc(s.Sessions, func(one Session) bool {
		return slices.ContainsFunc(one.Turns, func(t memory.Turn) bool { return t.Role == memory.RoleAssistant })
	})
}

// End returns the end of the last session.
func (s Subject) End() time.Time {
	var last time.Time
	for _, session := range s.Sessions {
		if session.End().After(last) {
			last = session.End()
		}
	}
	return last
}

// Question is a question to a subject's memory.
type Question struct {
	// Text is the question.
	Text string
	// Category is the benchmark's name of the question's type. LoCoMo's numbers get the names from its paper.
	Category string
	// Answer is the right answer; for a multiple choice it is one of Options. For an unanswerable question it is the
	// file's text: a correction of the question, an explanation, or nothing.
	Answer string
	// Options are the possible answers of a multiple choice, without their letters. Empty means an open question.
	Options []string
	// Evidence are the turns that state the answer. It is empty if the file names no turns.
	Evidence []string
	// EvidenceSessions are the sessions that state the answer, if the file names sessions. The file may also name
	// turns.
	EvidenceSessions []string
	// SingleHop says that one turn contains the answer. Containment is measured on such questions only.
	SingleHop bool
	// Unanswerable says that the conversations do not contain the answer, so the right reply is an abstention.
	// Evidence then holds the misleading turns.
	Unanswerable bool
	// AskedAt is the time of the question. Only sessions that ended by then may be used. Zero means after the last
	// session.
	AskedAt time.Time
}

// HasEvidence reports whether the question is answerable and names evidence turns.
func (q Question) HasEvidence() bool { return !q.Unanswerable && len(q.Evidence) > 0 }

// IsShort reports whether one turn contains the answer and the answer is short. Containment is measured on these
// questions.
func (q Question) IsShort() bool {
	n := len(text.ContentStems(q.Answer))
	return q.HasEvidence() && q.SingleHop && n > 0 && n <= shortAnswer
}

// EvidenceTurns returns the evidence turns, each once, sorted by id.
func (q Question) EvidenceTurns() []string {
	return slices.Compact(slices.Sorted(slices.Values(q.Evidence)))
}

// Target is one operation of the ground truth.
type Target struct {
	// Turns state the target; At is their time.
	Turns []string
	At    time.Time
	// Operation is the expected operation on the bank.
	Operation memory.OpKind
	// Predecessor is the index of the target that this one replaces or retracts; -1 for none.
	Predecessor int
	// Ends are the targets that this one ends, the predecessor first.
	Ends []int
	// Words are the words of the statement. Value distinguishes it from other statements of its slot; it is empty
	// without a slot value.
	Words []string
	Value string
}

// IsUpdate reports whether the target closes the statement of another target.
func (t Target) IsUpdate() bool {
	return t.Predecessor >= 0 && (t.Operation == memory.OpUpdate || t.Operation == memory.OpMerge ||
		t.Operation == memory.OpDelete)
}

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
