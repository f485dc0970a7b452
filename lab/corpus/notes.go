package corpus

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed notes/*.jsonl notes/heldout/*.jsonl
var noteFiles embed.FS

// ErrNote is the error for a line that is no talk labelled with notes.
var ErrNote = errors.New("not a talk labelled with notes")

// NotedTalk is a talk with the notes that a reader would write down. lab/reader/train.py learns from it.
type NotedTalk struct {
	Domain string `json:"domain"`
	// Lang is the language, as in ISO 639-1.
	Lang string `json:"lang"`
	// Date is the day of the talk, as "2006-01-02".
	Date  string      `json:"date"`
	User  string      `json:"user"`
	Turns []NotedTurn `json:"turns"`
	// Batch is the name of the file without its ending. Each file has one writer.
	Batch string `json:"-"`
}

// NotedTurn is a turn with its notes.
type NotedTurn struct {
	ID string `json:"id"`
	// Who is "user", "assistant" or a person's name.
	Who string `json:"who"`
	// Date is the day of the turn. It is empty for the day of the talk.
	Date    string      `json:"date,omitempty"`
	Text    string      `json:"text"`
	Entries []NotedLine `json:"entries"`
}

// NotedLine is one note.
type NotedLine struct {
	ID string `json:"id"`
	// Memory is the note in the third person.
	Memory string `json:"memory"`
	// Spans are the pieces of the turn's text that say it, word for word.
	Spans []string `json:"spans"`
	// Kind is one of NoteKinds.
	Kind string `json:"kind"`
	// Lasting is always, years, months, weeks or days.
	Lasting string `json:"lasting"`
	// About is "self" or the name or role of another person or thing.
	About string `json:"about"`
	// Ends are the ids of earlier notes that hold no more.
	Ends []string `json:"ends"`
	// Second reports whether only a second, more liberal reader wrote the note down.
	Second bool `json:"second,omitempty"`
}

// NoteKinds are the kinds of notes, in the order of the reader's outputs.
func NoteKinds() []string {
	return []string{"fact", "preference", "constraint", "episodic", "procedural", "plan"}
}

var (
	trainNotes   = sync.OnceValues(func() ([]NotedTalk, error) { return eachFile(noteFiles, "notes", ReadNotedTalks) })
	heldoutNotes = sync.OnceValues(func() ([]NotedTalk, error) {
		return eachFile(noteFiles, "notes/heldout", ReadNotedTalks)
	})
)

// NotedTalks returns the labelled talks of a split in the order of files and lines. No model learned from the writers
// of the heldout split.
func NotedTalks(s Split) ([]NotedTalk, error) {
	if s == Heldout {
		return heldoutNotes()
	}
	return trainNotes()
}

// ReadNotedTalks reads labelled talks, one a line. Its errors are ErrNote and name the line.
func ReadNotedTalks(batch string, data []byte) ([]NotedTalk, error) {
	return eachLine(data, ErrNote, func() NotedTalk { return NotedTalk{Batch: batch} }, NotedTalk.check)
}

func (t NotedTalk) check() error {
	if t.Lang == "" || len(t.Turns) < 2 {
		return fmt.Errorf("its language is %q and it has %d turns, want a language and at least 2", t.Lang, len(t.Turns))
	}
	known := map[string]bool{}
	for _, u := range t.Turns {
		if strings.TrimSpace(u.Text) == "" || len(u.Text) > maxText || u.Who == "" {
			return fmt.Errorf("turn %s is empty, longer than %d bytes or has no speaker", u.ID, maxText)
		}
		for _, e := range u.Entries {
			if err := e.check(u, known); err != nil {
				return fmt.Errorf("note %s: %w", e.ID, err)
			}
			known[e.ID] = true
		}
	}
	return nil
}

func (l NotedLine) check(in NotedTurn, known map[string]bool) error {
	switch {
	case l.ID == "" || known[l.ID]:
		return errors.New("its id is empty or known")
	case l.Memory == "" || len(l.Spans) == 0 || !slices.Contains(NoteKinds(), l.Kind):
		return fmt.Errorf("its kind is %q and it has %d spans, want a known kind, spans and a text", l.Kind, len(l.Spans))
	}
	for _, s := range l.Spans {
		if s == "" || !strings.Contains(in.Text, s) {
			return fmt.Errorf("its span %q is not in the turn", s)
		}
	}
	for _, id := range l.Ends {
		if !known[id] {
			return fmt.Errorf("it ends %q, which is no earlier note", id)
		}
	}
	return nil
}
