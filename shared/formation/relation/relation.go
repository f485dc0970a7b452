// Package relation returns the effect of a user's new statement on a stored one. The effect is none, a repetition, an
// addition, a replacement, or an end. A learned model compares the two texts; there are no lists of phrases. It runs
// in process, keeps no state, and gives the same answer for the same two statements.
package relation

import (
	_ "embed" // the phrases are part of the program
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Label is the effect of a later statement on a stored one.
type Label uint8

// The labels.
const (
	// Unrelated neither restates, extends nor changes the stored one, however much it looks as if.
	Unrelated Label = iota
	// Same says the same again.
	Same
	// Adds tells more: both hold.
	Adds
	// Replaces states a new value for the stored statement or a part of it.
	Replaces
	// Ends says that the stored one or a part of it holds no more, and has nothing in its place.
	Ends
)

// Labels is how many there are.
const Labels = 5

var labelNames = [Labels]string{"unrelated", "same", "adds", "replaces", "ends"}

// String is the label's name.
func (l Label) String() string {
	if l < Labels {
		return labelNames[l]
	}
	return fmt.Sprintf("label %d", uint8(l))
}

// Changes is whether a stored statement with this label does not hold any more as it is.
func (l Label) Changes() bool { return l == Replaces || l == Ends }

// ParseLabel returns the label of a name.
func ParseLabel(name string) (Label, error) {
	for i, n := range labelNames {
		if n == name {
			return Label(i), nil //nolint:gosec // five of them
		}
	}
	return 0, fmt.Errorf("label %q, want one of %q", name, labelNames)
}

// Statement is a person's statement in the original words.
type Statement struct {
	// Text is a quotation, or the message around it.
	Text string
	// Role is the speaker's role; an assistant's words rarely change a user's statement.
	Role memory.Role
	// Speaker is the name; only the equality of the two names counts. An empty name counts as a different speaker.
	Speaker string
	// Time is the time of the statement; zero if unknown. The training pairs of the shipped model have no time, so it
	// has no weight.
	Time time.Time
}

// Relation is the effect of a later statement on a stored one, as probabilities of the labels that sum to 1.
type Relation [Labels]float64

// Change is the probability that the stored statement, or a part of it, does not hold any more.
func (r Relation) Change() float64 { return r[Replaces] + r[Ends] }

// Likeliest is the label with the highest probability, the first of equals.
func (r Relation) Likeliest() Label {
	best := Unrelated
	for l := Same; l < Labels; l++ {
		if r[l] > r[best] {
			best = l
		}
	}
	return best
}

//go:embed corrections.txt
var correctionList string

// corrections matches a message that names itself a correction, in several languages.
var corrections = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for line := range strings.Lines(correctionList) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return regexp.MustCompile(strings.Join(all, "|"))
})

// straight are the apostrophes of the phrases.
var straight = strings.NewReplacer("’", "'", "‘", "'")

// Corrects reports whether a message says that it corrects an earlier statement of its speaker ("I meant Friday").
func Corrects(message string) bool {
	return corrections().MatchString(straight.Replace(strings.ToLower(message)))
}

// unmeant matches the words by which a speaker takes back a statement that was no fact.
var unmeant = regexp.MustCompile(`(?i)^(?:\S+ ){0,3}(?:joking|kidding|lied|lying|made (?:that|it|this)? ?up) (?:about|when i said|that)\b`)

// namePrefix is how many bytes of two stems are equal where one word is derived from the other: "allergy", "allergic".
const namePrefix = 6

// TakesBack reports whether a message takes back a stored statement: it says that the statement was a joke or a lie,
// and names nothing beside it.
func TakesBack(message, stored string) bool {
	message = straight.Replace(message)
	at := unmeant.FindStringIndex(message)
	if at == nil {
		return false
	}
	names, have := text.ContentStems(message[at[1]:]), text.ContentStems(stored)
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(have, func(s string) bool {
			return s == name || len(s) >= namePrefix && len(name) >= namePrefix && s[:namePrefix-1] == name[:namePrefix-1]
		})
	})
}
