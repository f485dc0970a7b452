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

// ErrConstraint says that a line is no labelled statement.
var ErrConstraint = errors.New("not a statement labelled as a constraint or not")

// Binding is how much a statement binds whoever does something for its user.
type Binding string

// The bindings.
const (
	// BindsAlways is of what stands and must be respected: health, diet, faith's rules on food and drink, access, what cannot be done, what
	// can be paid, and who is cared for.
	BindsAlways Binding = "constraint"
	// BindsTaste is of hard dislikes, of what is never or always done, and of how one wants to be answered.
	BindsTaste Binding = "strong"
	// BindsNot is of everything else: what others have, what is over, what is asked, what holds for one occasion.
	BindsNot Binding = "none"
)

// Constraint is a statement, quoted from a dialogue or written for its label, with how much it binds.
type Constraint struct {
	// ID is of the turn that it is quoted from, or of the file and the line.
	ID string `json:"id"`
	// Text is the statement.
	Text string `json:"text"`
	// Label is how much it binds.
	Label Binding `json:"label"`
	// Batch is the file's name without ending, for quoted statements that of their dialogues.
	Batch string `json:"-"`
}

// Split is what the statement is for: that of its dialogue, and of the written ones by writer's batch.
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
