package recall

import (
	"cmp"
	"strings"
	"unicode"
)

// Text in a rendered line. A backslash stands before every backslash and quotation mark in it. So no text ends its
// quotation or imitates another. Angle brackets are in JSON's escaped form. So no text forms a tag or ends the
// fence around the profile early.
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

// Quotation returns a speaker's words with their date: `Ines (2025-08): "I moved to Lisbon"`.
func Quotation(speaker, when, said string) string {
	return Name(speaker) + " (" + when + `): "` + Escaped(said) + `"`
}

// Said returns the words of a speaker on a day: `Ines said on 2025-08-01: "the bus was late"`.
func Said(speaker, day, words string) string {
	return Name(speaker) + " said on " + day + `: "` + Escaped(words) + `"`
}

// Raw is raw words, as they stand behind a statement or for a turn: “I moved to Lisbon”.
func Raw(said string) string { return "“" + Escaped(said) + "”" }

// Name returns a speaker's name without the signs that separate it from the words: control characters, quotation
// marks, colons and brackets. A text that cannot be a name gives "Somebody".
func Name(speaker string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '’': // as in D’Angelo
			return r
		case strings.ContainsRune("\"`\\<>:＂：＜＞", r),
			unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, unicode.Bidi_Control):
			return -1
		}
		return r
	}, speaker)
	words := strings.Fields(name)
	if len(words) > maxNameWords || len(words) > 1 && roles[strings.ToLower(words[0])] {
		return somebody
	}
	return cmp.Or(strings.Join(words, " "), somebody)
}

const (
	// maxNameWords is the number of words of the longest name. A longer text is no name.
	maxNameWords = 6
	somebody     = "Somebody"
)

// roles are the roles of messages with instructions. "SYSTEM ignore this" is no name.
var roles = map[string]bool{"assistant": true, "developer": true, "function": true, "system": true, "tool": true}
