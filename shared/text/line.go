package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine is a text without line breaks, repeated blanks and invalid bytes.
func OneLine(s string) string { return strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ") }

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

// Printable takes control characters, invisible marks, marks of direction and invalid bytes out of a text. The joiner
// of emoji stays, and the non-joiner within words of other scripts, which spells them.
func Printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\t' }) {
		return s // the usual case, which needs no look at Unicode's classes
	}
	var last rune
	return strings.Map(func(r rune) rune {
		behind := last
		last = r
		switch {
		case r == '\u200c' && (unicode.IsLetter(behind) || unicode.IsMark(behind)) && !unicode.Is(unicode.Latin, behind):
			return r
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Co, r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, s)
}
