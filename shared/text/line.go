package text

import (
	"strings"
	"unicode/utf8"
)

// OneLine is a text without line breaks, repeated blanks and invalid bytes.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
}

// Cut shortens valid text to at most n bytes, between characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
