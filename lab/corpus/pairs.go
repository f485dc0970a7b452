// Package corpus holds what people say, labelled by hand: the data that models of the embedded policy are trained and measured on.
// pairs/ has pairs of a stored and a later statement of one user, a file a writer and field of topics; banks/ what one person told, and
// what each later statement does to it; dialogues/ what people say to an assistant, and which turns are worth remembering; cases/ two
// sessions of one person each, the second of which may change what the first tells; talks/ what people ask in the middle of a conversation,
// and which of their memories that needs; questions/ what they ask, and which time it is about.
package corpus

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

//go:embed pairs/*.jsonl
var files embed.FS

// ErrPair says that a line is no pair.
var ErrPair = errors.New("not a labelled pair")

// Who says a statement.
const (
	// ByUser is the user, whose memory it is.
	ByUser = "user"
	// ByAssistant is the assistant.
	ByAssistant = "assistant"
	// ByOther is somebody else in the same chat.
	ByOther = "other"
)

// maxText bounds a statement, in bytes.
const maxText = 1000

// Pair is a stored statement, a later one, and what the later one does to the stored one.
type Pair struct {
	// Topic is a word or two.
	Topic string `json:"topic"`
	// Stored and Later are the statements, as typed.
	Stored   string `json:"stored"`
	StoredBy string `json:"stored_by"`
	Later    string `json:"later"`
	LaterBy  string `json:"later_by"`
	// Label is what Later does to Stored: the name of a relation.Label.
	Label string `json:"label"`
	// Part is the run of words of Stored that does not hold any more; empty unless the label changes it.
	Part string `json:"part"`
	// Kind says in the writer's words what makes the case ("other person's news", "by consequence").
	Kind string `json:"kind"`
	// Batch is the file's name without ending.
	Batch string `json:"-"`
}

// Relation is the label.
func (p Pair) Relation() relation.Label {
	l, err := relation.ParseLabel(p.Label)
	if err != nil {
		panic(err) // Read refuses others
	}
	return l
}

// Statements are the two as the model takes them.
func (p Pair) Statements() (later, stored relation.Statement) {
	return statement(p.Later, p.LaterBy), statement(p.Stored, p.StoredBy)
}

func statement(text, by string) relation.Statement {
	role := memory.RoleUser
	if by == ByAssistant {
		role = memory.RoleAssistant
	}
	return relation.Statement{Text: text, Role: role, Speaker: by}
}

// Pairs returns all pairs in the order of files and lines.
var Pairs = sync.OnceValues(func() ([]Pair, error) { return eachFile(files, "pairs", Read) })

// Read reads the pairs of a batch, a JSON object a line. A line that is none is an ErrPair with its number.
func Read(batch string, data []byte) ([]Pair, error) {
	return eachLine(data, ErrPair, func() Pair { return Pair{Batch: batch} }, Pair.check)
}

func (p Pair) check() error {
	label, err := relation.ParseLabel(p.Label)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"stored": p.Stored, "later": p.Later} {
		if strings.TrimSpace(text) == "" || len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("%s is empty, longer than %d bytes or no UTF-8", name, maxText)
		}
	}
	switch {
	case p.StoredBy != ByUser && p.StoredBy != ByOther:
		return fmt.Errorf("stored_by is %q", p.StoredBy)
	case p.LaterBy != ByUser && p.LaterBy != ByOther && p.LaterBy != ByAssistant:
		return fmt.Errorf("later_by is %q", p.LaterBy)
	case label.Changes() && p.LaterBy == ByAssistant:
		return errors.New("an assistant changes what the user told")
	case label.Changes() != (p.Part != ""):
		return fmt.Errorf("part is %q with label %s", p.Part, label)
	case !strings.Contains(strings.ToLower(p.Stored), strings.ToLower(p.Part)):
		return fmt.Errorf("part %q is not in stored %q", p.Part, p.Stored)
	}
	return nil
}
