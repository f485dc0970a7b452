package recall

import (
	"cmp"
	"strings"
	"unicode"
)

// Text in a rendered line. Within it, a backslash stands before every backslash and quotation mark, so that nothing ends the quotation that
// it stands in or looks like another, and angle brackets are written as JSON may write them, so that no tag is formed and no fence around
// the profile ends early.
var (
	escaper   = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `“`, `\“`, `”`, `\”`, `<`, `\u003c`, `>`, `\u003e`)
	untagger  = strings.NewReplacer(`<`, `\u003c`, `>`, `\u003e`)
	unescaper = strings.NewReplacer(`\\`, `\\`, `\u003c`, `<`, `\u003e`, `>`)
)

// Escaped is remembered text as it stands in a line, quoted or not.
func Escaped(text string) string { return escaper.Replace(Plain(text)) }

// Untagged is a line that a model wrote, without a tag; its quotation marks are its own.
func Untagged(line string) string { return untagger.Replace(line) }

// Tagged is a rendered line with its angle brackets, for a prompt that escapes them itself.
func Tagged(line string) string { return unescaper.Replace(line) }

// Quotation is what a speaker said, with when: `Ines (2025-08): "I moved to Lisbon"`.
func Quotation(speaker, when, said string) string {
	return Name(speaker) + " (" + when + `): "` + Escaped(said) + `"`
}

// Raw is raw words, as they stand behind a statement or for a turn: “I moved to Lisbon”.
func Raw(said string) string { return "“" + Escaped(said) + "”" }

// Name is a speaker's name without what parts it from the words behind it: control characters, quotation marks, colons and brackets.
func Name(speaker string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '’': // as in D’Angelo
			return r
		case strings.ContainsRune("\"`\\<>:＂：＜＞", r), unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, unicode.Bidi_Control):
			return -1
		}
		return r
	}, speaker)
	return cmp.Or(strings.Join(strings.Fields(name), " "), "Somebody")
}
