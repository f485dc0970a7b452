package features

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// needsSeveral reports whether a question asks for all of a kind, or for the common part of two: "what books has
// she read", "where have they been", "which of both".
func needsSeveral(said []text.Word) bool {
	for i, w := range said {
		rest := said[i+1:]
		next := ""
		if len(rest) > 0 {
			next = rest[0].Lower
		}
		switch w.Lower {
		case "both", "kinds", "types", "sorts", "ways":
			return true
		case "how":
			if next == "many" {
				return true
			}
		case "what", "which":
			if next == "are" || next == "were" || namesMany(rest) {
				return true
			}
			fallthrough
		case "where", "who", "whom":
			if next == "has" || next == "have" { // in a whole life, or all the time since
				return true
			}
		}
	}
	return false
}

// namesMany says whether the noun phrase that a question word begins has a plural: it ends at the verb.
func namesMany(rest []text.Word) bool {
	const longest = 5
	for _, w := range rest[:min(len(rest), longest)] {
		switch w.Lower {
		case "has", "have", "had", "do", "does", "did", "is", "are", "was", "were",
			"will", "would", "can", "could", "may", "might", "should":
			return false
		case "people", "children", "men", "women":
			return true
		}
		if isPlural(w.Lower) {
			return true
		}
	}
	return false
}

// isPlural says whether an English noun looks like a plural.
func isPlural(noun string) bool {
	if len(noun) < 4 || !strings.HasSuffix(noun, "s") {
		return false
	}
	for _, singular := range [...]string{"ss", "us", "is", "'s"} {
		if strings.HasSuffix(noun, singular) {
			return false
		}
	}
	return true
}
