package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// evaluated is the tenant of evaluations. Its data stays in the process.
const evaluated = "evaluation"

// ReadOptions configure the reading of a conversation file. The zero value fits most files.
type ReadOptions struct {
	// Tenant owns the subjects; empty means the tenant of evaluations.
	Tenant string
	// User owns the sessions of a chat export, which names no user. Other formats ignore it.
	User string
	// Contexts is the file with the contexts of PersonaMem's questions. Empty means a file in the folder of the
	// questions: shared_contexts_X.jsonl for questions_X.csv, or else the only .jsonl file.
	Contexts string
	// Began is the start of the first session in files without dates, as in PersonaMem. Zero means noon of 1 January
	// 2024, UTC. Each later session begins one day after the previous one.
	Began time.Time
}

func (o ReadOptions) began() time.Time {
	if o.Began.IsZero() {
		return time.Date(2024, time.January, 1, 12, 0, 0, 0, time.UTC)
	}
	return o.Began
}

func (o ReadOptions) scope(user string) memory.Scope {
	if o.Tenant == "" {
		return memory.Scope{Tenant: evaluated, User: user}
	}
	return memory.Scope{Tenant: o.Tenant, User: user}
}

// Repairs counts mistakes in a file that the reader tolerates.
type Repairs struct {
	// Repaired counts malformed evidence names that still identify a turn. In PersonaMem it counts questions whose
	// end exceeds the number of messages.
	Repaired int `json:"repaired"`
	// Dropped counts evidence names without a match in the file.
	Dropped int `json:"dropped"`
	// Unanswerable counts repaired or dropped names in the evidence of LoCoMo's adversarial questions. Repaired and
	// Dropped exclude them.
	Unanswerable int `json:"unanswerable"`
	// Renamed counts sessions with the id of another session of the same user.
	Renamed int `json:"renamed_sessions"`
	// Empty counts turns without text; the reader skips them.
	Empty int `json:"empty_turns"`
	// Silent counts messages of systems and tools; the reader skips them.
	Silent int `json:"silent_turns"`
	// Late counts sessions dated after a question about them. The question is moved to the end of the session.
	Late int `json:"late_sessions"`
	// Unasked counts questions without a valid place in the conversation; the reader skips them.
	Unasked int `json:"unasked_questions"`
}

// ReadSubjects reads a file of conversations with its questions, if it has any. It recognises the format by the
// contents, not by the name. The formats are LoCoMo (ReadLoCoMo), LongMemEval (ReadLongMemEval), PersonaMem's
// questions (ReadPersonaMem), HaluMem (ReadHaluMem), and the formats of Read without questions. The error is ErrFormat
// for any other format and for a broken rule of a format.
func ReadSubjects(path string, o ReadOptions) ([]Subject, Repairs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Repairs{}, err
	}
	defer f.Close()
	read, err := recognise(f)
	if err != nil {
		return nil, Repairs{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, Repairs{}, err
	}
	switch read {
	case formatLoCoMo:
		return ReadLoCoMo(f, o)
	case formatLongMemEval:
		return ReadLongMemEval(f, o)
	case formatHaluMem:
		return ReadHaluMem(f, o)
	case formatPersonaMem:
		return readPersonaMemAt(path, f, o)
	}
	sessions, repairs, err := readSessions(f, read, o)
	return subjectsOf(sessions, o), repairs, err
}

// format is a file format that the beginning of a file shows.
type format int

const (
	formatTurns format = iota
	formatLoCoMo
	formatLongMemEval
	formatPersonaMem
	formatHaluMem
	formatMessages
	formatChatGPT
	formatClaude
)

// String names the format.
func (f format) String() string {
	return [...]string{"JSON lines of turns", "LoCoMo's file", "LongMemEval's file", "PersonaMem's questions",
		"HaluMem's file", "a list of messages", "ChatGPT's export", "Claude's export"}[f]
}

// taken are the formats of conversations without questions.
const taken = "JSON lines of turns, a LoCoMo file, OpenAI's or LangChain's messages, or conversations.json of " +
	"ChatGPT or Claude"

// recognise finds the format by the first character that is no space, and by the field names of the first object.
func recognise(r io.Reader) (format, error) {
	b := plain(r)
	c, err := firstByte(b)
	if err != nil {
		return formatTurns, err
	}
	head, _ := b.Peek(headBytes) // a short file has less
	head = bytes.Clone(head)
	unknown := fmt.Errorf("%w: it seems to be %s; want %s", ErrFormat, seeming(head), taken)
	switch c {
	case '[':
		fields := firstObject(b, true)
		switch {
		case fields["question_id"], fields["haystack_sessions"]:
			return formatLongMemEval, nil
		case fields["sample_id"], fields["conversation"]:
			return formatLoCoMo, nil
		case fields["ts"]:
			return formatTurns, unknown
		}
		if f, ok := exportOf(fields); ok {
			return f, nil
		}
		return formatTurns, unknown
	case '{':
		fields := firstObject(b, false)
		if fields["user_id"] {
			return formatTurns, nil
		}
		if f, ok := exportOf(fields); ok && !fields["role"] {
			return f, nil
		}
		if fields["uuid"] || fields["sessions"] {
			return formatHaluMem, nil
		}
		return formatTurns, nil // the reader of turns reports the fault
	}
	header, err := csv.NewReader(b).Read()
	if err == nil && slices.ContainsFunc(header, func(name string) bool {
		return strings.TrimSpace(name) == columnContext
	}) {
		return formatPersonaMem, nil
	}
	return formatTurns, unknown
}

// headBytes is the number of bytes that are read to guess the format of an unknown file.
const headBytes = 4 << 10

// exportOf finds the format of a chat export by the fields of its first object.
func exportOf(fields map[string]bool) (format, bool) {
	switch {
	case fields["mapping"]:
		return formatChatGPT, true
	case fields["chat_messages"]:
		return formatClaude, true
	case fields["messages"], fields["role"], fields["type"] && (fields["data"] || fields["content"]):
		return formatMessages, true
	}
	return formatTurns, false
}

// firstObject returns the field names of the first object. It returns no names if the input is not JSON.
func firstObject(r io.Reader, listed bool) map[string]bool {
	d := json.NewDecoder(r)
	if listed {
		if _, err := d.Token(); err != nil {
			return nil
		}
	}
	var object map[string]json.RawMessage
	if d.Decode(&object) != nil {
		return nil
	}
	out := map[string]bool{}
	for name := range object {
		out[name] = true
	}
	return out
}

// readPersonaMemAt finds the contexts of a file of questions and reads both.
func readPersonaMemAt(path string, questions io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	at := o.Contexts
	if at == "" {
		var err error
		if at, err = contextsBeside(path); err != nil {
			return nil, Repairs{}, err
		}
	}
	contexts, err := os.Open(at)
	if err != nil {
		return nil, Repairs{}, fmt.Errorf("the conversations of %s: %w", filepath.Base(path), err)
	}
	defer contexts.Close()
	return ReadPersonaMem(questions, contexts, o)
}

func contextsBeside(path string) (string, error) {
	dir, name := filepath.Split(path)
	size := strings.TrimPrefix(strings.TrimSuffix(name, filepath.Ext(name)), "questions")
	named := filepath.Join(dir, "shared_contexts"+size+".jsonl")
	if _, err := os.Stat(named); err == nil {
		return named, nil
	}
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%w: %s has PersonaMem's questions, and %d files in its folder may have their conversations, "+
			"want %s or one file",
			ErrFormat, name, len(found), filepath.Base(named))
	}
	return found[0], nil
}

// subjectsOf groups sessions by their users.
func subjectsOf(sessions []Session, o ReadOptions) []Subject {
	var out []Subject
	place := map[string]int{}
	for _, s := range sessions {
		i, ok := place[s.User]
		if !ok {
			i = len(out)
			place[s.User] = i
			out = append(out, Subject{Scope: o.scope(s.User)})
		}
		out[i].Sessions = append(out[i].Sessions, s)
	}
	return out
}
