package text

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// frames.txt lists words of sentences that frame the text behind them, by class.
//
//go:embed frames.txt
var frameList string

// frameWords are the words of frames by class.
var frameWords = sync.OnceValue(func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for line := range strings.Lines(frameList) {
		if class, words, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			out[class] = Union(out[class], WordSet(words))
		}
	}
	return out
})

// Limits of frames: the words of a framing sentence, of one without a verb, and behind a statement.
const maxFrameWords, maxVerbless, maxTail = 14, 5, 7

// FramesNext reports whether a text ends with a sentence that frames the speaker's next text: "Here is Tom's post:".
func FramesNext(s, speaker string) bool { return part(s, speaker).opens }

// Leads returns the speaker's words that only lead up to passed-on words: "My friend Jo texted me:".
func Leads(s, speaker string) string {
	return part(s, speaker).of(func(v voice) bool { return v == leadWord })
}

// frame passes on the text behind sentences that frame it, and statements before the name of their speaker.
func (p *parted) frame(rest string) {
	framed, blank := false, false // the text is framed; the frame has no text yet
	at := 0
	for l := range strings.Lines(rest) {
		line := strings.TrimRight(l, "\r\n")
		if strings.TrimSpace(line) == "" || p.inLine {
			framed = framed && blank
		}
		p.inLine = false
		for from := 0; from < len(line); {
			n, _ := p.passageEnd(line[from:])
			passage := line[from : from+n]
			framed, blank = p.framePassage(passage, at+from, framed, blank)
			from += n
		}
		at += len(l)
	}
	last := strings.TrimSpace(p.said)
	last = last[strings.LastIndexByte(last, '\n')+1:]
	p.opens = framed && blank || endsWithColon(last) && framesAfterColon(strings.TrimRight(last, ":： "), "")
}

// framePassage reads one passage. It returns whether the next one is framed, and whether the frame has no text yet.
func (p *parted) framePassage(passage string, at int, framed, blank bool) (bool, bool) {
	words := Words(passage)
	if len(words) == 0 {
		return framed, blank
	}
	if framed && !(frameWords()["again"][foldAccents(words[0].Lower)] || ownAgain(passage) == 0) {
		p.pass(at, at+len(passage), labelledWord, ' ')
		return true, false
	}
	if i := colonIn(passage); i >= 0 {
		behind := i + 1
		if strings.HasPrefix(passage[i:], "：") {
			behind = i + len("：")
		}
		body := p.said[at+behind : at+len(passage)]
		if p.isOwn(at, at+i) && framesAfterColon(passage[:i], body) {
			opens := at + behind + len(body) - len(strings.TrimLeft(body, " \t*_~"))
			if quotesBeside(p.said[opens : at+len(passage)]) {
				return false, false
			}
			p.lead(at, at+behind)
			if opens < len(p.said) && p.voices[opens] == passedOn { // a quotation ends the frame
				return false, false
			}
			p.inLine = strings.TrimSpace(body) != ""
			p.pass(at+behind, at+len(passage), labelledWord, ' ')
			return true, !p.inLine
		}
	} else if p.isOwn(at, at+len(passage)) && framesAlone(passage) {
		p.lead(at, at+len(passage))
		return true, true
	}
	if to := tailOfSpeaker(passage); to > 0 {
		p.pass(at, at+to, labelledWord, ' ')
		p.lead(at+to, at+len(passage))
	}
	return false, false
}

// quotesBeside reports whether a text begins with a quotation, and other words follow it.
func quotesBeside(body string) bool {
	mark, size := utf8.DecodeRuneInString(body)
	if closers[mark] == "" || mark == '\'' || mark == '‘' {
		return false
	}
	end, _ := quotationEnd(body, size, mark)
	return end > 0 && len(Words(body[end:])) > 0
}

// isOwn reports whether no byte of a part is passed on.
func (p *parted) isOwn(from, to int) bool {
	return !slices.ContainsFunc(p.voices[from:to], voice.passes)
}

// lead marks the speaker's own part of some bytes as words that lead up to others' words.
func (p *parted) lead(from, to int) {
	for i := from; i < to; i++ {
		if !p.voices[i].passes() {
			p.voices[i] = leadWord
		}
	}
}

// colonIn returns the place of the first colon of a passage that parts a lead from a text; -1 without one. A colon of an
// address or of a time parts nothing.
func colonIn(passage string) int {
	for i, r := range passage {
		if r != ':' && r != '：' {
			continue
		}
		if next := passage[i+utf8.RuneLen(r):]; next == "" || next[0] != '/' && (next[0] < '0' || next[0] > '9') {
			return i
		}
	}
	return -1
}

// leadOfQuotation returns the start of the words that lead up to a quotation of another person: "Jo texted me". It is -1
// without such words.
func leadOfQuotation(before, quotation, behind string) int {
	inner := strings.Trim(quotation, " \t\u00a0\u202f\"'”’“»«›‹」』„「『")
	if next := Words(Cut(behind, mostAttributed)); !SubjectOf(inner).Speaker || len(next) > 0 && !next[0].Capital {
		return -1
	}
	from := max(0, len(before)-mostAttributed)
	from += strings.LastIndexAny(before[from:], ".!?\n") + 1
	words := Words(strings.ToValidUTF8(before[from:], ""))
	said := slices.ContainsFunc(words, func(w Word) bool { return sayings[w.Lower] })
	if !said || !namesSource(before[from:], words) || slices.ContainsFunc(words, func(w Word) bool { return selfSubjects[w.Lower] }) {
		return -1
	}
	return from
}

// frameClasses counts the words of a frame by class.
type frameClasses struct {
	strong, weak, work, play, point, posted, says bool
	// noun says that it has a word of weak, this one of "this", passes a verb such as "copied", and asksText "write".
	noun, this, passes, asksText bool
	// mine says that the speaker is a subject.
	mine bool
}

func frameClassesOf(said string, words []Word) frameClasses {
	var c frameClasses
	known := frameWords()
	weakAt := -1
	for i, w := range words {
		lower := strings.TrimSuffix(foldAccents(w.Lower), "'s")
		first, _, _ := strings.Cut(lower, "'")
		c.strong = c.strong || known["strong"][lower]
		c.noun, c.this = c.noun || known["weak"][lower], c.this || known["this"][lower]
		c.passes, c.asksText = c.passes || i < 3 && passing[lower], c.asksText || i == 0 && known["write"][lower]
		behindOf := func(n int) bool { return i >= n && known["of"][foldAccents(words[i-n].Lower)] }
		if known["weak"][lower] && (behindOf(1) || behindOf(2) || strings.HasSuffix(w.Lower, "'s")) {
			c.weak, weakAt = true, i
		}
		c.work = c.work || i < 4 && known["work"][lower]
		c.play = c.play || i < 3 && known["play"][lower]
		c.point = c.point || i < 2 && known["point"][lower]
		c.posted = c.posted || known["posted"][lower]
		c.says = c.says || sayings[w.Lower]
		c.mine = c.mine || selfSubjects[first] && weakAt < 0 || selves()[lower] && i == 0 && !labelOwners()[lower]
	}
	has := func(class string) bool {
		for cue := range known[class] {
			if strings.Contains(said, cue) {
				return true
			}
		}
		return false
	}
	if IsUnspaced(said) {
		c.mine = c.mine || saysSelf(said)
		c.strong, c.posted = c.strong || has("unspaced-strong"), c.posted || has("unspaced-posted")
	}
	return c
}

// framesAfterColon reports whether the words before a colon frame the text behind it. A report of other things than the
// reporter is no frame: "My doctor wrote: no more sugar."
func framesAfterColon(head, body string) bool {
	words := Words(head)
	if len(words) == 0 || len(words) > maxFrameWords && !IsUnspaced(head) {
		return false
	}
	c := frameClassesOf(head, words)
	switch unspaced := IsUnspaced(head); {
	case unspaced && c.posted:
		return true
	case c.passes && (c.this || !c.mine && !IsCompanion(foldAccents(words[0].Lower))):
		return true
	case c.asksText && c.noun, c.play:
		return true
	case (c.strong || c.weak) && !(unspaced && c.mine), c.work && !c.mine:
		return true
	case c.mine:
		return false
	}
	return (c.posted || c.says) && namesSource(head, words) && (strings.TrimSpace(body) == "" || speaksOfSelf(body))
}

// speaksOfSelf reports whether a text speaks of its speaker, also in languages that saysSelf does not know.
func speaksOfSelf(said string) bool {
	own := frameWords()["self"]
	return saysSelf(said) || slices.ContainsFunc(Words(said), func(w Word) bool { return own[foldAccents(w.Lower)] })
}

// namesSource reports whether the words of a lead name another person as the source: "Jo's status", "a text from Jo".
func namesSource(head string, words []Word) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(head))
	if IsUnspaced(head) || unicode.Is(unicode.Lo, first) {
		return true
	}
	for i, w := range words {
		lower := foldAccents(w.Lower)
		isName := w.Capital && !IsStopWord(w.Lower) && !headings()[lower] && !labelOwners()[lower]
		switch {
		case isName && (i > 0 || i+1 < len(words) && sayings[words[i+1].Lower]):
			return true
		case strings.HasSuffix(w.Lower, "'s") && i+1 < len(words) && !ownLeads[w.Lower] && !timeWords[strings.TrimSuffix(lower, "'s")]:
			return true
		case thirdPersons[w.Lower], IsCompanion(w.Lower), names()[lower]:
			return true
		}
	}
	return false
}

// verbs of being show that words of a frame are a statement: "The novel is long."
var beings = WordSet(`is are was were am be has have had ist sind war waren hat habe es son era fue tiene est sont etait
	a e sono ha foi sao tem byl jest sa zijn heeft var ar`)

// framesAlone reports whether a sentence frames the next one: a request to work on it, a title without a verb, or
// words that point at it.
func framesAlone(said string) bool {
	words := Words(said)
	if len(words) == 0 || len(words) > maxFrameWords {
		return false
	}
	c := frameClassesOf(said, words)
	if IsUnspaced(said) {
		return c.strong && !c.mine && utf8.RuneCountInString(said) <= maxUnspacedFrame && !isSaid(said)
	}
	asks := strings.HasSuffix(strings.TrimSpace(said), "?")
	known := frameWords()
	isVerbless := len(words) <= maxVerbless && !slices.ContainsFunc(words, func(w Word) bool {
		isNoun := known["strong"][w.Lower] || known["weak"][w.Lower]
		return beings[foldAccents(w.Lower)] || IsPersonalVerb(w.Lower) && !isNoun
	})
	opensPlay := frameWords()["play"][foldAccents(words[0].Lower)] || words[0].Lower == "let's"
	pretends := frameWords()["pretend"][foldAccents(words[0].Lower)] && c.play
	switch {
	case pretends:
		return true
	case c.mine && !(c.point && c.strong):
		return false
	case c.work:
		return c.this
	case asks:
		return false
	case c.strong:
		return isVerbless || c.point && len(words) > 1 || opensPlay
	case c.weak:
		return isVerbless || c.point
	}
	return c.point && (c.says || c.posted) && namesSource(said, words)
}

// maxUnspacedFrame is the maximum length of a framing sentence in a script without spaces, in characters.
const maxUnspacedFrame = 14

// isSaid reports whether a sentence of Chinese or Japanese states something.
func isSaid(said string) bool {
	return strings.Contains(said, "是") || strings.Contains(said, "です") || strings.Contains(said, "だ。")
}

// comparing words before the name of a speaker keep a statement the user's: "as my mother says".
var comparing = WordSet("as like wie como comme come как zoals jak gibi som and und y et e и but")

// hearers may stand behind the verb at the end of a statement: "Jo told me".
var hearers = WordSet("me us him her them today yesterday mir uns ihm ihr")

// tailOfSpeaker returns the end of a statement before the name of its speaker: "I moved to Oslo, says Tom."; 0 without
// such a name.
func tailOfSpeaker(passage string) int {
	at := strings.LastIndexAny(passage, ",—–")
	if at <= 0 {
		return 0
	}
	tail := Words(passage[at:])
	if len(tail) < 2 || len(tail) > maxTail || len(Words(passage[:at])) < 2 || comparing[foldAccents(tail[0].Lower)] {
		return 0
	}
	says := slices.IndexFunc(tail, func(w Word) bool { return sayings[w.Lower] })
	last := len(tail) - 1
	for last > 0 && hearers[tail[last].Lower] {
		last--
	}
	if says != 0 && says != last || says < 0 {
		return 0
	}
	c := frameClassesOf(passage[at:], tail)
	if !c.strong && slices.ContainsFunc(tail, func(w Word) bool { return selfSubjects[w.Lower] }) {
		return 0
	}
	if !slices.ContainsFunc(tail, func(w Word) bool {
		isPerson := thirdPersons[w.Lower] || w.Capital || IsCompanion(w.Lower) || frameWords()["strong"][foldAccents(w.Lower)]
		return isPerson && !sayings[w.Lower]
	}) {
		return 0
	}
	return at
}
