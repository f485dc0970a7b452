package corpus

import (
	"embed"
	"errors"
	"slices"
	"sync"
)

//go:embed shown/*.jsonl
var shownFiles embed.FS

// ErrShown is the error for a line that is no labelled turn.
var ErrShown = errors.New("not a turn labelled for a request")

// Relatedness is the relation of a turn to a request that does not need it.
type Relatedness string

// The values of Relatedness.
const (
	// Related means that the turn is on the request's topic.
	Related Relatedness = "related"
	// CouldMatter means that the turn may change a careful answer, as a wish about the style of messages.
	CouldMatter Relatedness = "could_matter"
	// Unrelated means that the turn has no relation to the request.
	Unrelated Relatedness = "unrelated"
)

// ShownTurn is a turn of a dialogue that a profile showed for a request that does not need it. The turns are a random
// sample from profiles of users with 1, 8 and 28 dialogues. Labellers did not see scores or places.
type ShownTurn struct {
	Request string      `json:"request"`
	Turn    string      `json:"turn"`
	Label   Relatedness `json:"label"`
	// Batch is the split.
	Batch string `json:"-"`
}

// Shown returns the labelled turns of a split. No model learns from them.
func Shown(s Split) ([]ShownTurn, error) {
	all, err := allShown()
	return slices.DeleteFunc(slices.Clone(all), func(t ShownTurn) bool { return t.Batch != string(s) }), err
}

var allShown = sync.OnceValues(func() ([]ShownTurn, error) { return eachFile(shownFiles, "shown", ReadShown) })

// ReadShown reads labelled turns, a JSON object a line. A line that is no labelled turn is an ErrShown with its
// number.
func ReadShown(batch string, data []byte) ([]ShownTurn, error) {
	return eachLine(data, ErrShown, func() ShownTurn { return ShownTurn{Batch: batch} }, ShownTurn.check)
}

func (t ShownTurn) check() error {
	if t.Request == "" || t.Turn == "" {
		return errors.New("it has no request or no turn")
	}
	if t.Label != Related && t.Label != CouldMatter && t.Label != Unrelated {
		return errors.New("its label is none of related, could_matter and unrelated")
	}
	return nil
}
