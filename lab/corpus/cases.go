package corpus

import (
	_ "embed" // the cases are part of the package
	"errors"
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
)

//go:embed cases/two_sessions.jsonl
var cases []byte

// ErrCase says that a line is no case.
var ErrCase = errors.New("not a case of two sessions")

// Case is two sessions of one person, the second of which may change what the first tells.
type Case struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// First and Second are the turns of the sessions.
	First  []CaseTurn `json:"first"`
	Second []CaseTurn `json:"second"`
	// Keep and Close are words of turns of First that still hold, and that no longer hold, behind Second.
	Keep  []string `json:"keep"`
	Close []string `json:"close"`
	// Speaker is whose memory it is.
	Speaker string `json:"speaker"`
}

// CaseTurn is what one turn of a case says, and who says it.
type CaseTurn struct {
	Speaker string      `json:"speaker"`
	Role    memory.Role `json:"role"`
	Text    string      `json:"text"`
}

// Cases returns the cases of two sessions, in order.
func Cases() ([]Case, error) { return ReadCases(cases) }

// ReadCases reads cases, a JSON object a line. A line that is none is an ErrCase with its number.
func ReadCases(data []byte) ([]Case, error) {
	return eachLine(data, ErrCase, func() Case { return Case{} }, Case.check)
}

func (c Case) check() error {
	if c.ID == "" || len(c.First) == 0 || len(c.Second) == 0 || len(c.Keep)+len(c.Close) == 0 {
		return errors.New("want an id, two sessions, and something to keep or to close")
	}
	for _, words := range append(c.Keep, c.Close...) {
		if _, ok := c.Turn(words); !ok {
			return fmt.Errorf("no turn of the first session says %q", words)
		}
	}
	return nil
}

// Turn is the place of the turn of the first session that has the words.
func (c Case) Turn(words string) (place int, ok bool) {
	for i, t := range c.First {
		if t.Role == memory.RoleUser && strings.Contains(t.Text, words) {
			return i, true
		}
	}
	return 0, false
}
