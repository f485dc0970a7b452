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

// ErrCase is the error for a line that is no case.
var ErrCase = errors.New("not a case of two sessions")

// Case is two sessions of one person. The second may change facts of the first.
type Case struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// First and Second are the turns of the sessions.
	First  []CaseTurn `json:"first"`
	Second []CaseTurn `json:"second"`
	// Keep and Close are words of turns of First. After Second, Keep still hold and Close hold no more.
	Keep  []string `json:"keep"`
	Close []string `json:"close"`
	// Speaker is the owner of the memory.
	Speaker string `json:"speaker"`
}

// CaseTurn is one turn of a case with its speaker.
type CaseTurn struct {
	Speaker string      `json:"speaker"`
	Role    memory.Role `json:"role"`
	Text    string      `json:"text"`
}

// Cases returns the cases of two sessions, in order.
func Cases() ([]Case, error) { return ReadCases(cases) }

// ReadCases reads cases, a JSON object a line. A line that is no case is an ErrCase with its number.
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

// Turn returns the index of the turn of the first session with the words.
func (c Case) Turn(words string) (place int, ok bool) {
	for i, t := range c.First {
		if t.Role == memory.RoleUser && strings.Contains(t.Text, words) {
			return i, true
		}
	}
	return 0, false
}
