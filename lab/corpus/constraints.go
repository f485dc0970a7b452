package corpus

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed constraints/*.jsonl
var constraintFiles embed.FS

// ErrConstraint is the error for a line that is no labelled statement.
var ErrConstraint = errors.New("not a statement labelled as a constraint or not")

// Binding is the degree to which a statement binds a helper of its user.
type Binding string

// The bindings.
const (
	// BindsAlways marks standing facts that a helper must respect: health, diet, religious rules on food and drink,
	// access, impossible things, budgets, and people in the user's care.
	BindsAlways Binding = "constraint"
	// BindsTaste marks strong dislikes, fixed habits, and wishes about the form of answers.
	BindsTaste Binding = "strong"
	// BindsNot marks all other statements: facts about others, past facts, questions, facts for one occasion.
	BindsNot Binding = "none"
)

// Constraint is a statement with its binding. It is quoted from a dialogue or written for its label.
type Constraint struct {
	// ID names the turn of the quotation, or the file and the line.
	ID string `json:"id"`
	// Text is the statement.
	Text string `json:"text"`
	// Label is its binding.
	Label Binding `json:"label"`
	// Batch is the name of the file without its ending. For a quoted statement it is the batch of the dialogue.
	Batch string `json:"-"`
}

// Split returns the split of the statement: the split of its dialogue, or for a written one the split of the writer's
// batch.
func (c Constraint) Split() Split {
	if c.Batch == "w02" {
		return Heldout
	}
	if split, ok := splits[c.Batch]; ok {
		return split
	}
	return Dialogue{Batch: c.Batch}.Split()
}

// Written reports whether the statement was written for its label, and not quoted.
func (c Constraint) Written() bool { return strings.HasPrefix(c.Batch, "w") }

// Constraints returns all labelled statements in the order of files and lines.
var Constraints = sync.OnceValues(func() ([]Constraint, error) {
	return eachFile(constraintFiles, "constraints", readConstraints)
})

func readConstraints(batch string, data []byte) ([]Constraint, error) {
	return eachLine(data, ErrConstraint, func() Constraint { return Constraint{Batch: batch} }, func(c Constraint) error {
		switch {
		case c.ID == "" || strings.TrimSpace(c.Text) == "" || len(c.Text) > maxTurn:
			return fmt.Errorf("it has no id, or its text is empty or longer than %d bytes", maxTurn)
		case !slices.Contains([]Binding{BindsAlways, BindsTaste, BindsNot}, c.Label):
			return fmt.Errorf("its label is %q, want constraint, strong or none", c.Label)
		}
		return nil
	})
}
