package relation

import (
	_ "embed" // the phrases are part of the program
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/text"
)

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
