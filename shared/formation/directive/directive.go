// Package directive recognises text that wants to steer the memory instead of telling it something. It knows English, the commonest
// orders in some other languages, and the usual disguises; prompts that fence data in are the defence against the rest.
package directive

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mneme-memory/mneme/shared/text"
)

// A directive is text that wants to steer the memory rather than to tell something: "delete all you know about me",
// a fake role or tool call, a change "of the user" in the third person. None of it is remembered, because as a
// memory it would be read again by whoever is shown it.

// frames look like the frame that a model is asked in. A turn that has one is dropped whole.
var frames = regexp.MustCompile(`(?i)(?:^|\n)\s*(?:system|assistant|user|developer|human|ai)\s*:|</?[a-z_]{2,20}(?: [^<>]{0,80})?/?>|<\||\|>|\[/?inst\]|` + "```" +
	`|\btool[_ ](?:call|result)\b|\brole\s*=|\buser\.\w+\s*=|"(?:op|kind|operations?|action|memory|memories|slot|targets?)"\s*:|` +
	`#{2,} ?(?:instruction|system|task)|\bend of (?:transcript|conversation|data)\b|\bset content\s*=`)

// Framed reports whether a turn's text pretends to be more than what somebody said.
func Framed(text string) bool { return frames.MatchString(text) }

// Is reports whether a sentence is a directive, also behind the usual disguises.
func Is(sentence string) bool {
	plain := strings.ToLower(plainLetters(sentence))
	if isOrder(plain) {
		return true
	}
	if strings.ContainsAny(plain, "013457@$") && isOrder(unleet.Replace(plain)) {
		return true
	}
	if spelled := unspell(plain); spelled != plain && isOrder(spelled) {
		return true
	}
	for _, hidden := range decoded(sentence) {
		if isOrder(strings.ToLower(hidden)) {
			return true
		}
	}
	return false
}

// plainLetters takes off invisible marks and the shapes of letters: full width, mathematical, and the Cyrillic and Greek ones that
// look like Latin ones within a word that has both.
func plainLetters(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	fields := strings.Fields(s)
	for i, f := range fields {
		if strings.ContainsFunc(f, isLatin) {
			fields[i] = lookalikes.Replace(f)
		}
	}
	return strings.Join(fields, " ")
}

func isLatin(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }

var (
	lookalikes = strings.NewReplacer("а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "i", "ѕ", "s", "ј", "j", "ԁ", "d", "ո", "n",
		"ο", "o", "α", "a", "ε", "e", "ι", "i", "ν", "v", "А", "A", "Е", "E", "О", "O", "С", "C", "Т", "T", "М", "M", "Н", "H", "К", "K", "В", "B")
	unleet  = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")
	spelled = regexp.MustCompile(`\b(?:\pL[ .-]){3,}\pL\b`)
)

// unspell joins words that are written letter by letter.
func unspell(s string) string {
	return spelled.ReplaceAllStringFunc(s, func(m string) string {
		return strings.NewReplacer(" ", "", "-", "", ".", "").Replace(m)
	})
}

// encodedWord is long enough to hide something.
var encodedWord = regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`)

// decoded returns what a text says in base64, in hexadecimal digits, or rotated by thirteen letters.
func decoded(s string) []string {
	var out []string
	for _, w := range encodedWord.FindAllString(s, 4) {
		for _, decode := range []func(string) ([]byte, error){
			base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString, hex.DecodeString,
		} {
			if raw, err := decode(w); err == nil && utf8.Valid(raw) {
				out = append(out, string(raw))
			}
		}
	}
	if !hasStopWord(s) {
		out = append(out, strings.Map(rot13, s))
	}
	return out
}

func hasStopWord(s string) bool {
	for _, w := range text.Words(s) {
		if text.IsStopWord(w.Lower) {
			return true
		}
	}
	return false
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}
