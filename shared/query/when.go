package query

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// IsTimeNoun reports whether a lower-case English noun stands for a time. A date answers a question with such a noun,
// and not the noun itself.
func IsTimeNoun(lower string) bool { return timeNouns[lower] }

var (
	timeNouns = text.WordSet("date year month day time long ago")
	// askedTimes after "what" or "which" ask for a time. So do datedTimes if no word says of what.
	askedTimes = text.WordSet("date dates year month week weekend day time")
	datedTimes = text.WordSet("date dates")
	// occasions are times after a verb of telling: "tell me the year she left". A day or a time there may be an
	// experience.
	occasions = text.WordSet("year month week")
	// askedHow after "how" do.
	askedHow = text.WordSet("long soon recently")
	// fillers may stand between the question word and the time: "what was the exact date".
	fillers = text.WordSet("is was were are will be the her his their my our your its exact precise")
	// auxiliaries after "when" make it ask: "when did she", but not "when she".
	auxiliaries = wordLists.Set("auxiliaries")
	// measures may come in between, or be the whole rest. placings come with their object: "when in May did she".
	measures = text.WordSet("exactly precisely roughly approximately again please")
	placings = text.WordSet("in on about around")
	// wondering words lead up to a question within another: "do you know when she left".
	wondering = wordLists.Set("wondering")
	// telling words are the asking words with a hearer: "tell her when", but not "know her when".
	telling = text.WordSet("tell tells told remind ask asks asked asking")
	hearers = text.WordSet("me us you him her them everybody everyone")
	// begging words lead up to a wanted date, in addition to the wondering ones: "give me the date of".
	begging = text.WordSet("give send show need needs want wants like have got")
	// addressed words may stand between these and the question.
	addressed = text.WordSet("again just exactly of about please")
	// ownForms begin sentences about the speaker's knowledge.
	ownForms = text.WordSet("i we i've we've i'll we'll")
	// pasts are past verbs, in addition to verbs that end in -ed.
	pasts = wordLists.Set("pasts")
)

// clause is a sentence of a text, to be looked at word by word.
type clause struct {
	said  string
	words []text.Word
	// all are the words of the text. from is the first word of the sentence.
	all  []text.Word
	from int
	// asks is whether the sentence ends in a question mark, open whether in nothing at all.
	asks, open bool
}

// clausesOf divides a phrase at the ends of its sentences.
func clausesOf(p Phrase) []clause {
	var out []clause
	for start := 0; start < len(p.Words); {
		end := start + 1
		for end < len(p.Words) && !strings.ContainsAny(p.Text[p.Words[end-1].End:p.Words[end].Start], ".!?;\n") {
			end++
		}
		rest := len(p.Text)
		if end < len(p.Words) {
			rest = p.Words[end].Start
		}
		stop := p.Text[p.Words[end-1].End:rest]
		out = append(out, clause{
			said: p.Text, words: p.Words[start:end], all: p.Words, from: start,
			asks: strings.Contains(stop, "?"), open: !strings.ContainsAny(stop, ".!;"),
		})
		start = end
	}
	return out
}

// asksWhen reports whether an English text asks for a time, in any of its sentences.
func asksWhen(p Phrase) bool {
	return slices.ContainsFunc(clausesOf(p), func(c clause) bool { return c.asksWhen() })
}

func (c clause) asksWhen() bool {
	other := false
	for i, w := range c.words {
		switch {
		case isWhen(w):
			wonders := (!other || c.besideQuestion(i)) && c.wondersWhen(i)
			if wonders || c.opensWhen(i) || c.endsInWhen(i) || !other && c.isBareWhen(i) {
				return true
			}
		case askedTimes[w.Lower]:
			if c.asksTime(i) {
				return true
			}
		case i > 0 && askedHow[w.Lower] && c.words[i-1].Lower == "how":
			return true
		case i > 0 && w.Lower == "ago":
			if asksHow(c.words[max(0, i-4):i]) {
				return true
			}
		}
		other = other || text.IsQuestionWord(w.Lower)
	}
	return false
}

func isWhen(w text.Word) bool { return strings.TrimSuffix(w.Lower, "'s") == "when" }

func isWhich(w text.Word) bool {
	word := strings.TrimSuffix(w.Lower, "'s")
	return word == "what" || word == "which"
}

func asksHow(before []text.Word) bool {
	return slices.ContainsFunc(before, func(w text.Word) bool { return w.Lower == "how" })
}

// auxiliary reports whether word i is a verb that asks, and no name that looks like one.
func (c clause) auxiliary(i int) bool {
	return auxiliaries[c.words[i].Lower] && !text.IsNamesake(c.said, c.all, c.from+i)
}

// between returns the text between word i and the word before it.
func (c clause) between(i int) string {
	if i == 0 {
		return ""
	}
	return c.said[c.words[i-1].End:c.words[i].Start]
}

// opensWhen reports whether a question follows "when", anywhere in the sentence. A verb before its subject marks a
// question there.
func (c clause) opensWhen(at int) bool {
	if c.words[at].Lower == "when's" {
		return true
	}
	next := c.afterMeasures(at + 1)
	if next < len(c.words) && placings[c.words[next].Lower] {
		for next++; next < len(c.words) && !c.auxiliary(next); next++ {
			if strings.ContainsAny(c.between(next), ",:") {
				return false
			}
		}
		if next == len(c.words) {
			return c.asks
		}
	}
	switch {
	case next == len(c.words):
		return false
	case c.auxiliary(next):
		return true
	}
	return next+1 < len(c.words) && isJoint(c.words[next]) && text.IsQuestionWord(c.words[next+1].Lower)
}

func (c clause) afterMeasures(i int) int {
	for i < len(c.words) && measures[c.words[i].Lower] {
		i++
	}
	return i
}

func isJoint(w text.Word) bool { return w.Lower == "and" || w.Lower == "or" }

// besideQuestion reports whether "when" is part of a double question: "where and when".
func (c clause) besideQuestion(at int) bool {
	return at > 1 && isJoint(c.words[at-1]) && text.IsQuestionWord(c.words[at-2].Lower)
}

// endsInWhen reports whether the question comes at the end of a sentence: "she left when?".
func (c clause) endsInWhen(at int) bool {
	next := c.afterMeasures(at + 1)
	return next == len(c.words) && (at == 0 || c.asks || c.open) && !c.knowsOneself(at)
}

// isBareWhen reports whether a sentence is only "when" and an event, with a question mark: "When she left?".
func (c clause) isBareWhen(at int) bool {
	if !c.asks || at > 0 {
		return false
	}
	for i := at + 1; i < len(c.words); i++ {
		if strings.ContainsAny(c.between(i), ",:") || text.IsQuestionWord(c.words[i].Lower) || c.auxiliary(i) {
			return false
		}
	}
	return true
}

// leadingWord returns the word that leads up to word at, -1 where none does.
func (c clause) leadingWord(at int, leads map[string]bool) int {
	if at == 0 || strings.ContainsAny(c.between(at), ",") {
		return -1
	}
	k := at - 1
	for k > 0 && addressed[c.words[k].Lower] {
		k--
	}
	if k > 0 && hearers[c.words[k].Lower] && (telling[c.words[k-1].Lower] || begging[c.words[k-1].Lower]) {
		k--
	}
	if !leads[c.words[k].Lower] {
		return -1
	}
	return k
}

// isOwn reports whether the leading word k is about the speaker's own knowledge. Such a sentence asks nothing.
func (c clause) isOwn(k int) bool {
	switch c.words[k].Lower {
	case "asking", "wonder", "wonders", "wondering", "forgot", "forget", "curious", "sure", "since", "until", "till",
		"by", "from", "need", "needs", "want", "wants", "like":
		return false
	}
	return ownForms[c.words[0].Lower] && (k == 0 || c.words[k-1].Lower != "to")
}

func (c clause) knowsOneself(at int) bool {
	k := c.leadingWord(at, wondering)
	return k >= 0 && c.isOwn(k)
}

// wondersWhen reports whether the words before "when" lead up to a question.
func (c clause) wondersWhen(at int) bool {
	if c.besideQuestion(at) {
		at -= 2
	}
	k := c.leadingWord(at, wondering)
	return k >= 0 && !c.isOwn(k) && !(telling[c.words[k].Lower] && c.isErrand(at))
}

// isErrand reports whether "when" names the moment of an errand: "remind me when I get home to buy milk". Then a
// present follows, and later the errand.
func (c clause) isErrand(at int) bool {
	verb := at + 2
	if at+1 < len(c.words) {
		if subject, _, short := strings.Cut(c.words[at+1].Lower, "'"); text.IsSubjectPronoun(subject) && short {
			verb = at + 1
		} else if !text.IsSubjectPronoun(subject) && !c.words[at+1].Capital {
			return false
		}
	}
	if verb >= len(c.words) || pasts[c.words[verb].Lower] || strings.HasSuffix(c.words[verb].Lower, "ed") {
		return false
	}
	for i := verb + 2; i+1 < len(c.words); i++ {
		if next := c.words[i+1]; c.words[i].Lower == "to" && !next.Capital && !next.Number && !text.IsStopWord(next.Lower) {
			return true
		}
	}
	return false
}

// asksTime reports whether the sentence asks for word at, a unit of time or a date. It asks by "what" or "which",
// by a request, or by the word alone.
func (c clause) asksTime(at int) bool {
	dated := datedTimes[c.words[at].Lower]
	from := at - 1
	if dated || c.isSpecified(at) {
		for from >= 0 && fillers[c.words[from].Lower] {
			from--
		}
	}
	if from >= 0 && isWhich(c.words[from]) {
		return !c.isCompound(at, from == 0 || strings.ContainsAny(c.between(from), ",:"))
	}
	of := at+1 < len(c.words) && c.words[at+1].Lower == "of"
	if !of && !(dated && !c.isCompound(at, false)) && !(occasions[c.words[at].Lower] && c.isSpecified(at)) {
		return false
	}
	if from < 0 {
		return dated && !c.hasVerbAfter(at)
	}
	if from == at-1 {
		return false // no article: not one that the two of them know of
	}
	for k := at - 1; k > from; k-- { // behind a verb it is no object of the speaker
		if auxiliaries[c.words[k].Lower] {
			return false
		}
	}
	if about := c.words[from].Lower; about == "about" || about == "of" {
		return false
	}
	k := c.leadingWord(from+1, wondering)
	if k < 0 {
		k = c.leadingWord(from+1, begging)
	}
	return k >= 0 && !c.isOwn(k)
}

// isSpecified reports whether the next words specify the time: "the year of her birth", "the year she was born".
func (c clause) isSpecified(at int) bool {
	if at+1 == len(c.words) {
		return false
	}
	next := c.words[at+1]
	switch next.Lower {
	case "of", "that", "when":
		return true
	}
	return next.Capital || text.IsSubjectPronoun(next.Lower)
}

// hasVerbAfter reports whether a verb follows: "the date of her exam was moved".
func (c clause) hasVerbAfter(at int) bool {
	for i := at + 1; i < len(c.words); i++ {
		if c.auxiliary(i) {
			return true
		}
	}
	return false
}

// isCompound reports whether the word after a time gives it another meaning: "what time zone", "what day job". Then
// its verb or its subject comes only after that. A question that begins there has its verb first: "what year did
// she", but not "what year ana moved".
func (c clause) isCompound(at int, opens bool) bool {
	const longest = 2
	for i := at + 1; i <= at+longest && i < len(c.words); i++ {
		w := c.words[i]
		if w.Capital || w.Number || text.IsStopWord(w.Lower) || text.IsTimeWord(w) ||
			strings.ContainsAny(c.between(i), ",:") {
			return false
		}
		switch {
		case i+1 == len(c.words):
			return opens && i == at+1
		case opens && c.auxiliary(i+1), i == at+1 && (c.words[i+1].Capital || text.IsSubjectPronoun(c.words[i+1].Lower)):
			return true
		}
	}
	return false
}
