package recall

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// NoCite is the model's marker for a statement without support in memory. Users do not see it: see Marked.
const NoCite = "[NO_CITE]"

// Abstention is the complete answer when there is nothing else to say.
const Abstention = "Memory does not tell."

var (
	// cites are citations as people and models write them: [1], [1, 2].
	cites = regexp.MustCompile(`\[\s*(\d+(?:[\s,;]+\d+)*)\s*\]`)
	// looksCited is whatever a reader might take for a citation.
	looksCited = regexp.MustCompile(`(?i)\[\s*(\d[\d\s,;]*?|no_cite)\s*\]`)
	// noCites are NoCite as models write it, with the space before it.
	noCites = regexp.MustCompile(`(?i)\s*\[\s*no_cite\s*\]`)
)

// Mark is the citation of a memory by its number in a profile, from 1.
func Mark(number int) string { return "[" + strconv.Itoa(number) + "]" }

// Plain returns remembered text on one line, without invisible marks and marks of direction. It writes the text's
// own bracketed numbers in round brackets. So the text forges neither a line nor a citation, and reads in its own
// order. The escaped text may stand in a line.
func Plain(said string) string {
	return looksCited.ReplaceAllString(strings.Join(strings.Fields(text.Printable(said)), " "), "($1)")
}

// Marked reads a model's text. It returns the text without NoCite, or Abstention if nothing else remains. marked
// reports whether NoCite was there.
func Marked(text string) (plain string, marked bool) {
	if !noCites.MatchString(text) {
		return text, false
	}
	if plain = strings.TrimSpace(noCites.ReplaceAllString(text, "")); plain == "" {
		plain = Abstention
	}
	return plain, true
}

// Turns are the ids of the turns behind a citation: the sources of memory [number]. It is nil where the profile has
// no such citation.
func (p Profile) Turns(number int) []string {
	if number < 1 || number > len(p.Cited) {
		return nil
	}
	return slices.Clone(p.Cited[number-1].Sources)
}

// Grounded checks a text's citations against a profile. It returns the text without citations that the profile
// lacks, and with lists of numbers split. It also returns the ids of the cited memories, in order of their first
// citation. invented reports citations that the profile lacks.
func (p Profile) Grounded(text string) (grounded string, cited []string, invented bool) {
	grounded = strings.TrimSpace(text)
	for {
		next, ids, dropped := p.ground(grounded)
		if !dropped {
			return next, ids, invented
		}
		// A removed part may leave brackets that look like a citation themselves, as in "[[9]1]".
		grounded, invented = strings.TrimSpace(tidy.Replace(next)), true
	}
}

// ground does it once.
func (p Profile) ground(text string) (grounded string, cited []string, dropped bool) {
	grounded = cites.ReplaceAllStringFunc(text, func(mark string) string {
		var out strings.Builder
		for _, field := range strings.FieldsFunc(mark, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.Atoi(field)
			if err != nil || n < 1 || n > len(p.Cited) {
				dropped = true
				continue
			}
			out.WriteString(Mark(n))
			if id := p.Cited[n-1].ID; !slices.Contains(cited, id) {
				cited = append(cited, id)
			}
		}
		return out.String()
	})
	return grounded, cited, dropped
}

// tidy closes the gaps that a citation leaves when it goes.
var tidy = strings.NewReplacer("  ", " ", " .", ".", " ,", ",")
