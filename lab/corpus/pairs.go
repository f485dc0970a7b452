// Package corpus holds people's statements with hand-made labels: the training and test data of the models of the
// embedded policy.
//
//   - pairs/ has pairs of a stored and a later statement of one user. Each file has one writer and one field of topics.
//   - banks/ has one person's statements, and the effect of each later statement on them.
//   - dialogues/ has dialogues with an assistant, and the turns worth remembering.
//   - cases/ has two sessions of one person each. The second may change facts of the first.
//   - talks/ has questions in the middle of a conversation, and the memories that they need.
//   - questions/ has users' questions, and the time that each is about.
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

// ErrPair is the error for a line that is no pair.
var ErrPair = errors.New("not a labelled pair")

// The speakers of a statement.
const (
	// ByUser is the user, the owner of the memory.
	ByUser = "user"
	// ByAssistant is the assistant.
	ByAssistant = "assistant"
	// ByOther is another person in the same chat.
	ByOther = "other"
)

// maxText bounds a statement, in bytes.
const maxText = 1000

// Pair is a stored statement, a later one, and the effect of the later one on the stored one.
type Pair struct {
	// Topic is a word or two.
	Topic string `json:"topic"`
	// Stored and Later are the statements, as typed.
	Stored   string `json:"stored"`
	StoredBy string `json:"stored_by"`
	Later    string `json:"later"`
	LaterBy  string `json:"later_by"`
	// Label is the effect of Later on Stored: the name of a relation.Label.
	Label string `json:"label"`
	// Part is the run of words of Stored that holds no more. It is empty without a change.
	Part string `json:"part"`
	// Kind is the writer's name of the case ("other person's news", "by consequence").
	Kind string `json:"kind"`
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// Relation returns the label.
func (p Pair) Relation() relation.Label {
	l, err := relation.ParseLabel(p.Label)
	if err != nil {
		panic(err) // Read refuses others
	}
	return l
}

// Statements returns both statements in the model's form.
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

// Read reads the pairs of a batch, a JSON object a line. A line that is no pair is an ErrPair with its number.
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
