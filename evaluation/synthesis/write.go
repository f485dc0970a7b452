package synthesis

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

// WriteJSONL writes the dialogues, without their labels, as the JSON lines that dataset.Read reads.
func WriteJSONL(w io.Writer, people []Person) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, p := range people {
		for _, s := range p.Sessions {
			if err := writeSession(enc, p.ID, s); err != nil {
				return fmt.Errorf("write session %s of %s: %w", s.ID, p.ID, err)
			}
		}
	}
	return b.Flush()
}

func writeSession(enc *json.Encoder, user string, s Session) error {
	for _, t := range s.Turns {
		l := dataset.Line{
			User: user, Session: s.ID, Turn: t.ID, Speaker: t.Speaker, Role: string(t.Role),
			Text: t.Text, Caption: t.Caption, Time: t.Time,
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return enc.Encode(dataset.Line{User: user, Session: s.ID, Time: s.ClosedAt, Closed: true})
}
