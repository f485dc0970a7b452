package builtin

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// token is a word or number of a text.
type token struct {
	text string
	// number says that it contains a digit. A number is not stemmed.
	number bool
	// unspaced says that its script is written without spaces. Such a token is a run of characters and no word.
	unspaced bool
}

// tokens splits a text into words and numbers in lower case, without accents.
func tokens(text string) []token {
	text = fold(text)
	out := make([]token, 0, len(text)/5+1)
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !wordRune(runes[i]) {
			i++
			continue
		}
		end := scan(runes, i)
		out = append(out, classify(runes[i:end])...)
		i = end
	}
	return out
}

// fold lowers the case and removes Latin, Greek and Cyrillic accents. ASCII is the fast path.
func fold(text string) string {
	ascii := true
	for i := 0; i < len(text) && ascii; i++ {
		ascii = text[i] < 0x80
	}
	if ascii {
		return strings.ToLower(text)
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x0300 && r <= 0x036f:
			return -1
		case r == '\u2019' || r == '\u02bc':
			return '\''
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return norm.NFC.String(text)
}

func wordRune(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// scan returns the end of the token that begins at start. Signs inside numbers and dates (7:30, 3.5, 2023-05-01,
// 1,000) and apostrophes inside words belong to it.
func scan(runes []rune, start int) int {
	end := start + 1
	for end < len(runes) {
		r := runes[end]
		inner := end+1 < len(runes) && joins(runes[end-1], r, runes[end+1])
		changes := unspaced(r) != unspaced(runes[end-1])
		if !inner && (!wordRune(r) || changes) {
			return end
		}
		end++
	}
	return end
}

// joins reports whether sign joins before and after into one token.
func joins(before, sign, after rune) bool {
	switch sign {
	case '.', ',', ':', '-', '/':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case '\'':
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	}
	return false
}

// unspaced reports whether a rune is of a script that puts no spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// classify makes tokens of a scanned stretch. A number with signs also gives its parts, so that "2023-05-01" and
// "2023" share a token.
func classify(runes []rune) []token {
	text := string(runes)
	if unspaced(runes[0]) {
		return []token{{text: text, unspaced: true}}
	}
	if !strings.ContainsFunc(text, unicode.IsDigit) {
		return []token{{text: bare(text)}}
	}
	whole := strings.ReplaceAll(text, ",", "")
	out := []token{{text: whole, number: true}}
	parts := strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(".:-/'", r) })
	if len(parts) < 2 {
		return out
	}
	for _, part := range parts {
		out = append(out, token{text: part, number: true})
	}
	return out
}

// bare removes an English ending after an apostrophe: "ana's" is "ana", "didn't" is "didn".
func bare(word string) string {
	at := strings.LastIndexByte(word, '\'')
	if at < 0 {
		return word
	}
	switch word[at+1:] {
	case "s", "t", "m", "d", "ll", "re", "ve":
		return word[:at]
	}
	return word
}
