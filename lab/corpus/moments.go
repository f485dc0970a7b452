package corpus

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
)

//go:embed moments/*.jsonl
var momentFiles embed.FS

// ErrMoment is the error for a line that is no labelled statement.
var ErrMoment = errors.New("not a statement labelled as of the moment or lasting")

// Moment is a statement written for its label: of the moment, or lasting with a similar sound.
type Moment struct {
	Text string `json:"text"`
	// Label is "moment" or "lasting".
	Label string `json:"label"`
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// Passes reports whether the statement is of the moment.
func (m Moment) Passes() bool { return m.Label == "moment" }

// Split returns the split of the statement. m02 and m05 are for measurement only; the threshold is chosen on m04.
func (m Moment) Split() Split {
	switch m.Batch {
	case "m02", "m05":
		return Heldout
	case "m04":
		return Choose
	}
	return Train
}

// Moments returns all statements in the order of files and lines.
var Moments = sync.OnceValues(func() ([]Moment, error) { return eachFile(momentFiles, "moments", readMoments) })

func readMoments(batch string, data []byte) ([]Moment, error) {
	return eachLine(data, ErrMoment, func() Moment { return Moment{Batch: batch} }, func(m Moment) error {
		if strings.TrimSpace(m.Text) == "" || len(m.Text) > maxText || m.Label != "moment" && m.Label != "lasting" {
			return fmt.Errorf("it is empty, longer than %d bytes, or labelled %q, want moment or lasting", maxText, m.Label)
		}
		return nil
	})
}
