package corpus

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
)

//go:embed commitments/*.jsonl
var commitmentFiles embed.FS

// ErrCommitment says that a line is no labelled sentence of an assistant.
var ErrCommitment = errors.New("not an assistant's sentence labelled as a commitment or not")

// Commitment is a sentence that an assistant says, with whether it commits itself by it: says what it has done, noted, agreed or will do,
// so that a later conversation must know.
type Commitment struct {
	Text string `json:"text"`
	// Label is "commits" or "not".
	Label string `json:"label"`
	// Kind says in the writer's words what makes the case.
	Kind string `json:"kind"`
	// Batch is the file's name without ending.
	Batch string `json:"-"`
}

// Commits reports whether it does.
func (c Commitment) Commits() bool { return c.Label == "commits" }

// Split is what the sentence is for: c05 is by another writer than those for choosing, and about other things.
func (c Commitment) Split() Split {
	switch c.Batch {
	case "c04":
		return Choose
	case "c05":
		return Heldout
	}
	return Train
}

// Commitments returns all labelled sentences in the order of files and lines.
var Commitments = sync.OnceValues(func() ([]Commitment, error) {
	return eachFile(commitmentFiles, "commitments", func(batch string, data []byte) ([]Commitment, error) {
		return eachLine(data, ErrCommitment, func() Commitment { return Commitment{Batch: batch} }, func(c Commitment) error {
			switch {
			case strings.TrimSpace(c.Text) == "" || len(c.Text) > maxText:
				return fmt.Errorf("its text is empty or longer than %d bytes", maxText)
			case c.Label != "commits" && c.Label != "not":
				return fmt.Errorf("its label is %q, want commits or not", c.Label)
			}
			return nil
		})
	})
})
