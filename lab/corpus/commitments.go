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

// ErrCommitment is the error for a line that is no labelled sentence of an assistant.
var ErrCommitment = errors.New("not an assistant's sentence labelled as a commitment or not")

// Commitment is an assistant's sentence with a label. A commitment is an action, a note, an agreement or a
// plan of the assistant that a later conversation needs.
type Commitment struct {
	Text string `json:"text"`
	// Label is "commits" or "not".
	Label string `json:"label"`
	// Kind is the writer's name of the case.
	Kind string `json:"kind"`
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// Commits reports whether the sentence is a commitment.
func (c Commitment) Commits() bool { return c.Label == "commits" }

// Split returns the split of the sentence. c05 has another writer and other topics than the sentences for choosing.
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
