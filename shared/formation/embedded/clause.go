package embedded

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

// A clause is cut off only where a new subject begins, so that each part is a complete statement. The subject is a
// personal pronoun or a possessive after a comma or a conjunction such as "and" or "but". All other text stays whole,
// and is divided only when a part of it changes (see facts).

// joining words stand between clauses.
var joining = text.WordSet("and but so plus also & though while yet")

// subjects begin a clause: pronouns and possessives, with and without a verb.
var subjects = text.WordSet(`i i'm im i've ive i'd i'll we we're we've we'd we'll he he's he'd he'll she she's she'd
	she'll they they're they've they'd they'll my our his her their there's`)

// opening words make the clause that they begin depend on the one behind it.
var opening = text.WordSet(`if when whenever because since although unless until once as after before while where that
	which who how what why whether`)

// saying words come before reported speech or a thought, which belongs to them.
var saying = text.WordSet(`said says say told tell tells think thinks thought know knows knew guess hope hopes wish
	wishes mean means reckon swear believe suppose heard hear asked ask asks dreamt dreamed feel promise`)

// leaning words point back to the sentence before.
var leaning = text.WordSet(`it it's its it'll it'd that that's this these those they they're them he he's she she's
	him her his their which so then there still same both also too one ones`)

// leastWords is how many words each side of a cut must have.
const leastWords = 3

// clauses cuts a sentence where another fact begins.
func clauses(sentence string) []string {
	words := text.Words(sentence)
	var out []string
	from, start := 0, 0
	for i := range words {
		at, ok := cutAt(sentence, words, i)
		if !ok || i-from < leastWords || len(words)-i < leastWords || depends(words[from:i]) || isOneSubject(words[from:i]) ||
			open(sentence[start:at]) || !acts(words[from:i]) || possessives[words[i].Lower] && !acts(words[i:]) {
			continue
		}
		out = append(out, strings.TrimRight(sentence[start:at], ",;—–& \t"))
		start, from = words[i].Start, i
	}
	return append(out, strings.TrimSpace(sentence[start:]))
}

// acting words are verbs, or subjects with their verb, that text.IsPersonalVerb does not know.
var acting = text.WordSet(`i i'm im i've ive i'd i'll we we're we've we'd we'll he he's he'd he'll she she's she'd
	she'll they they're they've they'd they'll there's it's that's am be do does did don't doesn't didn't can can't could
	will won't would should must may might need needs make makes go goes come comes start starts take takes work works
	say says give gives cost costs know knows think thinks mean means keep keeps feel feels look looks seem seems run
	runs play plays call calls train trains thanks`)

// acts reports whether some words have a verb. Words without one are no clause: "most of the time", "their use in
// print".
func acts(words []text.Word) bool {
	return slices.ContainsFunc(words, func(w text.Word) bool { return acting[w.Lower] || text.IsPersonalVerb(w.Lower) })
}

// cutAt reports whether a clause begins with word i, and where the one before ends.
func cutAt(sentence string, words []text.Word, i int) (end int, ok bool) {
	if i == 0 || !subjects[words[i].Lower] {
		return 0, false
	}
	gap := sentence[words[i-1].End:words[i].Start]
	if i > 1 && joining[words[i-1].Lower] {
		return words[i-1].Start, true
	}
	if at := strings.Index(gap, " - "); at >= 0 {
		return words[i-1].End + at, true
	}
	return words[i].Start, strings.ContainsAny(gap, ",;—–&")
}

// possessives are subjects only with the noun behind them.
var possessives = text.WordSet("my our his her their")

func isPossessive(w text.Word) bool { return possessives[w.Lower] }

// widestSubject is how many words "my older sister and" has.
const widestSubject = 4

// isOneSubject reports whether words before a pronoun are part of the same subject: "on Sunday Teo and" before "I
// hiked".
func isOneSubject(words []text.Word) bool {
	if words[len(words)-1].Lower != "and" {
		return false
	}
	if before := len(words) - 2; before < 0 || !words[before].Capital &&
		!slices.ContainsFunc(words[max(0, before-2):before], isPossessive) {
		return false
	}
	for i, w := range words {
		if text.IsPersonalVerb(w.Lower) || subjects[w.Lower] && (!possessives[w.Lower] || len(words)-i > widestSubject) {
			return false
		}
	}
	return true
}

// depends reports whether a clause cannot end here: it opens what follows, or reports it.
func depends(words []text.Word) bool {
	return opening[words[0].Lower] || slices.ContainsFunc(words, func(w text.Word) bool { return saying[w.Lower] })
}

// open reports whether a text ends inside a quotation, a bracket, or an announcement after a colon. Such text may be
// another person's words.
func open(s string) bool {
	return quoting(s) || strings.Count(s, "(") > strings.Count(s, ")") || strings.Contains(s, ": ")
}

// quoting reports whether a quotation is still open at the end of a text.
func quoting(s string) bool {
	open := ' '
	for _, r := range s {
		switch {
		case open == ' ' && strings.ContainsRune(`"“„«`, r):
			open = r
		case open == '"' && r == '"', open == '“' && r == '”', open == '„' && (r == '“' || r == '”'), open == '«' && r == '»':
			open = ' '
		}
	}
	return open != ' '
}

// whole joins the sentences of one quotation, which belong to the quoted person. The quotation must be short and
// closed.
func whole(sentences []string) []string {
	var out []string
	for i := 0; i < len(sentences); i++ {
		said, end := sentences[i], i
		for n := i; quoting(said) && n+1 < len(sentences) && text.CountWords(said) <= maxQuoteWords; {
			n++
			if said += " " + sentences[n]; !quoting(said) {
				end = n
			}
		}
		out = append(out, strings.Join(sentences[i:end+1], " "))
		i = end
	}
	return out
}

// leans reports whether a sentence points back to the one before it.
func leans(sentence string) bool {
	words := text.Words(sentence)
	return len(words) == 0 || leaning[words[0].Lower] ||
		len(words) > 1 && joining[words[0].Lower] && !subjects[words[1].Lower]
}

// alone reports whether a statement is clear without the question before it: it has a subject and enough other words.
func alone(said string) bool {
	words := text.Words(said)
	return len(words) >= leastWords && subjects[words[0].Lower] && !leaning[words[0].Lower] && contentOf(said) >= fewStems
}

// unspacedWord is how many letters a word has where a script does not part words.
const unspacedWord = 3

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// contentOf counts the words that carry content; in scripts that do not part words, every few letters are one.
func contentOf(s string) int {
	n := 0
	words := text.Words(s)
	for i, w := range words {
		if !text.IsFiller(s, words, i) {
			n++
			if strings.ContainsFunc(w.Lower, unspaced) {
				n += utf8.RuneCountInString(w.Lower) / unspacedWord
			}
		}
	}
	return n
}

func isQuestion(sentence string) bool {
	end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(sentence, ` "'”)*_`))
	return strings.ContainsRune("?？؟", end)
}

// parts takes a quotation apart into what can stand alone. One with a bracket, which says what its words are about, is
// one part.
func (f *Former) parts(said string) []string {
	if strings.Contains(said, "[") {
		return []string{said}
	}
	var out []string
	for _, sentence := range whole(f.splitter.Sentences(said)) {
		for i, clause := range clauses(sentence) {
			if n := len(out) - 1; n >= 0 && (contentOf(clause) < fewStems && !hasSubject(clause) || i == 0 && leans(clause)) {
				out[n] += " " + clause
				continue
			}
			out = append(out, clause)
		}
	}
	if len(out) == 0 {
		return []string{said}
	}
	return out
}

// isResidue reports whether English words are no clause: they have no verb ("mostly on night shifts"), or they begin
// with it ("have done for six years").
func isResidue(said string) bool {
	words := text.Words(said)
	if len(words) == 0 || text.Detect(said, text.English) != text.English {
		return false
	}
	first := words[0].Lower
	return !acts(words[1:]) || linksOnly[first] || !words[0].Capital && strings.HasSuffix(first, "ing")
}

// linksOnly words are verbs that begin no statement.
var linksOnly = text.WordSet("am is are was were has have had isn't aren't wasn't weren't hasn't haven't can't " +
	"don't doesn't")

// hasSubject reports whether a clause has a subject. The length of the clause does not matter.
func hasSubject(clause string) bool {
	words := text.Words(clause)
	return len(words) > 1 && subjects[words[0].Lower] && !leaning[words[0].Lower]
}
