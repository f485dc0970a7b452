package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closers are the marks that end a quotation, by the one that begins it.
var closers = map[rune]string{
	'“': "”", '„': "“”", '«': "»", '»': "«",
	'‹': "›", '›': "‹", '「': "」", '『': "』", '"': "\"", '‘': "’", '\'': "'",
}

// A quotation is speech if it has this many words in small letters, or runes of a script without them. A quotation
// in the first person is speech, too. Other quotations may be names and titles.
const quotedWords, quotedRunes = 3, 10

// quotations passes on the quotations of speech. A text that is one quotation may be the speaker's.
func (p *parted) quotations(rest string) {
	spent := map[rune]int{} // up to where a mark is known to have no end
	for i := 0; i < len(rest); {
		mark, size := utf8.DecodeRuneInString(rest[i:])
		if closers[mark] == "" || i < spent[mark] || !opensQuotation(rest, i, mark) {
			i += size
			continue
		}
		end := -1
		if mark == '„' {
			end = lowQuotationEnd(rest, i+size)
		}
		if end < 0 {
			var searched int
			if end, searched = quotationEnd(rest, i+size, mark); end < 0 {
				spent[mark] = searched
				i += size
				continue
			}
		}
		switch q := rest[i:end]; {
		case strings.TrimSpace(rest) == q:
			if isSpeech(q) || saysSelf(q) {
				p.doubt(i, end)
			}
		case isSpeech(q), mentionsSpeech(rest, i, end) && saysSelf(q):
			p.pass(i, end, passedOn, ' ')
			if from := leadOfQuotation(rest[:i], q, rest[end:]); from >= 0 {
				p.lead(from, i)
			}
		}
		i = end
	}
}

// opensQuotation reports whether a mark that may also end a quotation, or be an apostrophe, begins one.
func opensQuotation(s string, at int, mark rune) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, _ := utf8.DecodeRuneInString(s[at+utf8.RuneLen(mark):])
	free := at == 0 || unicode.IsSpace(before) || strings.ContainsRune("(:,;-–—", before)
	switch mark {
	case '\'', '‘':
		return free && unicode.IsLetter(after)
	case '»', '›':
		return free && !unicode.IsSpace(after)
	}
	return true
}

// quotationEnd returns the end of a quotation with its first word at a byte. It is -1 if there is no end up to the
// byte of the last search.
func quotationEnd(s string, from int, mark rune) (end, searched int) {
	for i, r := range s[from:] {
		to := from + i + utf8.RuneLen(r)
		switch next, _ := utf8.DecodeRuneInString(s[min(to, len(s)):]); {
		case r == '\n' && (mark == '"' || mark == '\''):
			return -1, from + i
		case !strings.ContainsRune(closers[mark], r):
		case (mark == '\'' || mark == '‘') && to < len(s) &&
			(unicode.IsLetter(next) || unicode.IsNumber(next)): // an apostrophe
		default:
			return to, to
		}
	}
	return -1, len(s)
}

// lowQuotationEnd returns the end of a quotation with a low first mark in its line, or -1. It ends with a high mark, or
// without one with a straight mark. A quotation within it has two marks.
func lowQuotationEnd(s string, from int) int {
	inner, straight := false, -1
	for i, r := range s[from:] {
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[min(len(s), at+utf8.RuneLen(r)):])
		isHigh := strings.ContainsRune(closers['„'], r)
		switch {
		case r == '\n' || r == '„':
			return straight
		case r != '"' && !isHigh:
		case inner:
			inner = false
		case unicode.IsSpace(before) && unicode.IsLetter(after):
			inner = true
		case isHigh:
			return at + utf8.RuneLen(r)
		case straight < 0:
			straight = at + 1
		}
	}
	return straight
}

// isSpeech separates a quotation of words from a quoted name or title.
func isSpeech(quoted string) bool {
	small, caseless := 0, 0
	for w := range strings.FieldsSeq(quoted) {
		if first, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, "\"“„«»‹›‘「'(:,")); unicode.IsLower(first) {
			small++
		}
	}
	for _, r := range quoted {
		if unicode.Is(unicode.Lo, r) {
			caseless++
		}
	}
	return small >= quotedWords || caseless >= quotedRunes
}

// besideQuotation is the number of bytes around a quotation that may mention a speaker.
const besideQuotation = 40

// mentionsSpeech reports whether a quotation ends as a sentence does, or whether words around it mention a speaker.
func mentionsSpeech(s string, from, to int) bool {
	inner := strings.TrimRight(s[from:to], " \t\n\u00a0\u202f\"'”’“»«›‹」』")
	if last, _ := utf8.DecodeLastRuneInString(inner); isTerminal(last) || last == ',' {
		return true
	}
	before, after := s[max(0, from-besideQuotation):from], s[to:min(len(s), to+besideQuotation)]
	for _, w := range append(Words(strings.ToValidUTF8(before, "")), Words(strings.ToValidUTF8(after, ""))...) {
		first, _, _ := strings.Cut(w.Lower, "-")
		if sayings[first] {
			return true
		}
	}
	return false
}
