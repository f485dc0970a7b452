package traceview

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Bounds of the files of spans. A folder has a newer and an older file, so it holds at most twice the bytes.
const (
	keepFor   = 24 * time.Hour
	fileBytes = 8 << 20
)

// savedAttributes are the attributes that files have. None of them can hold an id or a text of a user, so an erasure
// has nothing to remove from the files. A new attribute is left out until it is in the list.
var savedAttributes = []string{
	"gen_ai.memory.abstained", "gen_ai.memory.candidate.count", "gen_ai.memory.change", "gen_ai.memory.cited.count",
	"gen_ai.memory.operation", "gen_ai.memory.turn.count", "gen_ai.operation.name", "gen_ai.request.model",
	"http.request.method", "http.response.status_code", "http.route", "messaging.destination.name",
	"messaging.operation.name",
	"messaging.operation.type", "messaging.system", "mneme.llm.attempts", "mneme.llm.role", "mneme.outcome",
	"mneme.strategy",
	"rpc.method", "rpc.response.status_code", "rpc.service", "rpc.system",
}

// spanFile saves spans in a folder, as JSON lines.
type spanFile struct {
	newer, older string
	limit        int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open returns a store that also saves spans in a folder. It first loads the spans of the last day. Saved spans have
// no ids of users, sessions, turns and memories, and no messages of errors.
func Open(folder string, spans int, now time.Time) (*Store, error) {
	return open(folder, spans, now, fileBytes)
}

func open(folder string, spans int, now time.Time, limit int64) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("folder of traces: %w", err)
	}
	f := &spanFile{newer: filepath.Join(folder, "newer.jsonl"), older: filepath.Join(folder, "older.jsonl"), limit: limit}
	s := NewStore(spans)
	for _, name := range []string{f.older, f.newer} {
		if err := load(name, now.Add(-keepFor), s); err != nil {
			return nil, err
		}
	}
	if err := f.begin(s.all()); err != nil {
		return nil, err
	}
	s.saved = f
	return s, nil
}

// load adds the spans of a file that ended after a time. It skips a damaged line, which a killed process leaves.
func load(name string, after time.Time, s *Store) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("saved traces: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, fileBytes)
	for lines.Scan() {
		var span Span
		if json.Unmarshal(lines.Bytes(), &span) == nil && span.TraceID != "" && span.end().After(after) {
			_ = s.Add([]Span{span}) // the store does not save yet
		}
	}
	return fault.During("saved traces", lines.Err())
}

// begin replaces both files by one with the given spans.
func (f *spanFile) begin(spans []Span) error {
	err := os.Remove(f.older)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("save traces: %w", err)
	}
	if f.file, err = os.OpenFile(f.newer, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("save traces: %w", err)
	}
	return f.add(spans)
}

// add saves spans. A full file becomes the older file, and the previous older file goes.
func (f *spanFile) add(spans []Span) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size >= f.limit {
		if err := errors.Join(f.file.Close(), os.Rename(f.newer, f.older)); err != nil {
			return fmt.Errorf("save traces: %w", err)
		}
		file, err := os.OpenFile(f.newer, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("save traces: %w", err)
		}
		f.file, f.size = file, 0
	}
	for _, span := range spans {
		line, err := json.Marshal(span.anonymous())
		if err != nil {
			return fmt.Errorf("save traces: %w", err)
		}
		n, err := f.file.Write(append(line, '\n'))
		f.size += int64(n)
		if err != nil {
			return fmt.Errorf("save traces: %w", err)
		}
	}
	return nil
}

func (f *spanFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

// anonymous returns the span without the data of a user. The message of an error may name ids, and so do attributes
// outside the list.
func (s Span) anonymous() Span {
	keep := func(all []Attribute) []Attribute {
		return slices.DeleteFunc(slices.Clone(all), func(a Attribute) bool {
			return !slices.Contains(savedAttributes, a.Key)
		})
	}
	s.Message, s.Attributes = "", keep(s.Attributes)
	events := make([]Event, len(s.Events))
	for i, e := range s.Events {
		events[i] = Event{Name: e.Name, Time: e.Time, Attributes: keep(e.Attributes)}
	}
	s.Events = events
	return s
}
