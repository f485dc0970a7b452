package relation

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// attribute matches the beginning of a statement about an attribute with one value at a time: a home, a job, an age, or
// a number or favourite with a name. Statements with an equal beginning are about the same attribute. The last group is
// the value.
var attribute = regexp.MustCompile(`(?i)(?:^|[.!?,;] ?|\band )(i (?:now |currently )?live in|i (?:now |currently )?work (?:as|at|for)|` +
	`i(?:'m| am)(?: now)?|(?:my|our|the) (?:[\pL'-]+ ){1,3}is)(?: now)? (\S+)`)

var (
	// quantity is a value that is a number.
	quantity = regexp.MustCompile(`(?i)^(?:[£$€]?\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)`)
	// now is a word of time within the beginning.
	now = strings.NewReplacer(" now", "", " currently", "", "i am", "i'm")
)

// attributesOf returns the beginnings of a text's statements about such attributes.
func attributesOf(said string) map[string]bool {
	out := map[string]bool{}
	for _, m := range attribute.FindAllStringSubmatch(straight.Replace(said), -1) {
		lead, value := now.Replace(strings.ToLower(m[1])), m[2]
		first, _ := utf8.DecodeRuneInString(value)
		switch {
		case strings.HasSuffix(lead, "live in"), strings.HasSuffix(lead, "work at"), strings.HasSuffix(lead, "work for"):
			if unicode.IsUpper(first) { // not "in a small flat"
				out[lead] = true
			}
		case strings.HasSuffix(lead, "work as"), strings.Contains(lead, "favo"), quantity.MatchString(value):
			out[lead] = true
		}
	}
	return out
}

// SameAttribute reports whether two statements give values to the same attribute of the speaker, of which there is one
// at a time: "I live in Turin", "I live in Trieste".
func SameAttribute(a, b string) bool {
	have := attributesOf(a)
	for lead := range attributesOf(b) {
		if have[lead] {
			return true
		}
	}
	return false
}
