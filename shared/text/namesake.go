package text

import "strings"

var (
	// namesakes are stop words that people, and a month, are called, too.
	namesakes = WordSet("will may can don do an my so or else")
	// leading words may open a sentence as names. Other words almost always have their usual meaning there.
	leading = WordSet("will may can don")
	// asking ones are verbs where a subject follows.
	asking = WordSet("will may can do")
	// subjects follow a verb that asks, and bares one that does not name.
	subjects = wordLists.Set("subjects")
	bares    = WordSet("be not never have")
)

// IsFiller reports whether word i of a text is a filler: a stop word that is not written as a name.
func IsFiller(text string, words []Word, i int) bool {
	lower := words[i].Lower
	return (stopWords[lower] || stopWords[strings.TrimSuffix(lower, "'s")]) && !IsNamesake(text, words, i)
}

// IsNamesake reports whether stop word i of a text is written as the name, or the month, of the same form. "Does
// Will know Don?" has such names. "Will she come?" and "Don't" have none. At the beginning of a sentence and in a
// title, a capital is not enough. The words around it decide there.
func IsNamesake(text string, words []Word, i int) bool {
	w := words[i]
	name := strings.TrimSuffix(w.Lower, "'s")
	switch {
	case !namesakes[name]:
		return false
	case name != w.Lower:
		return true // only a thing with a name owns something
	case !w.Capital:
		return false
	}
	p := place{text: text, words: words, at: i}
	p.find()
	switch {
	case name == "don":
		return !p.isCutShort()
	case p.opens && !leading[name]:
		return false
	case asking[name]:
		return !p.asks()
	}
	return !p.titled() && strings.ToUpper(text[w.Start:w.End]) != text[w.Start:w.End]
}

// place is where a word stands in its sentence, which goes from a word to before another.
type place struct {
	text         string
	words        []Word
	at, from, to int
	// opens reports whether the word begins a sentence or a part of one. afterComma reports whether only a comma is
	// before it.
	opens, afterComma bool
	// question is whether the sentence ends in a question mark.
	question bool
}

func (p *place) find() {
	const ends = ".!?\n"
	p.from, p.to = p.at, p.at+1
	for p.from > 0 && !strings.ContainsAny(p.gap(p.from), ends) {
		p.from--
	}
	for p.to < len(p.words) && !strings.ContainsAny(p.gap(p.to), ends) {
		p.to++
	}
	stop := p.text[p.words[p.to-1].End:]
	if p.to < len(p.words) {
		stop = p.gap(p.to)
	}
	if end := strings.IndexAny(stop, ends); end >= 0 {
		p.question = stop[end] == '?'
	}
	p.opens = p.at == p.from || opensPart(p.gap(p.at))
	p.afterComma = p.at > p.from && strings.Contains(p.gap(p.at), ",")
}

// gap returns the text between a word and the word before it.
func (p *place) gap(i int) string { return p.text[p.words[i-1].End:p.words[i].Start] }

// opensPart reports whether the text after some punctuation may be written as a sentence.
func opensPart(gap string) bool { return strings.ContainsAny(gap, ":;()\"“”„«»–—-*/…") }

// isCutShort reports whether the word is the rest of "don't" after a missing or replaced apostrophe.
func (p *place) isCutShort() bool { return p.at+1 < p.to && p.words[p.at+1].Lower == "t" }

// asks reports whether a subject follows, where the word may be a verb in spite of its capital.
func (p *place) asks() bool {
	if p.at+1 >= p.to || strings.TrimSpace(p.gap(p.at+1)) != "" {
		return false
	}
	next := p.words[p.at+1]
	month := p.words[p.at].Lower == "may"
	somebody := subjects[next.Lower] || bares[next.Lower] || next.Number && !month
	switch {
	case p.opens, p.at > p.from && asksAnything(p.words[p.at-1].Lower):
		return somebody || next.Capital || p.opens && p.question && !next.Number && !IsStopWord(next.Lower)
	case p.afterComma:
		return somebody // and a capital is a surname
	}
	return (somebody || next.Capital) && p.titled()
}

// asksAnything reports whether a lower-case English word is any question word, "when" included.
func asksAnything(lower string) bool {
	return lower == "when" || lower == "when's" || IsQuestionWord(lower)
}

// titled reports whether words have capitals that only a title gives them.
func (p *place) titled() bool {
	for i := p.from + 1; i < p.to; i++ {
		w := p.words[i]
		first, _, _ := strings.Cut(w.Lower, "'")
		if w.Capital && i != p.at && first != "i" && IsStopWord(w.Lower) && !namesakes[first] && !opensPart(p.gap(i)) {
			return true
		}
	}
	return false
}
