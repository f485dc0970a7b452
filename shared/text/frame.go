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
			if !strings.HasPrefix(class, "unspaced") {
				words = foldAccents(strings.ToLower(words))
			}
			out[class] = Union(out[class], WordSet(words))
		}
	}
	return out
})

// Limits of frames: the words of a framing sentence, and behind a statement.
const maxFrameWords, maxTail = 14, 7

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
	turns := frameWords()["again"][foldAccents(words[0].Lower)] && speaksOfSelf(passage)
	if framed && !turns && ownAgain(passage) != 0 {
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

// colonIn returns the place of the first colon of a passage that parts a lead from a text; -1 without one. A colon of
// an address or of a time parts nothing.
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

// leadOfQuotation returns the start of the words that lead up to a quotation of another person: "Jo texted me". It is
// -1 without such words.
func leadOfQuotation(before, quotation, behind string) int {
	inner := strings.Trim(quotation, " \t\u00a0\u202f\"'”’“»«›‹」』„「『")
	if next := Words(Cut(behind, mostAttributed)); !SubjectOf(inner).Speaker || len(next) > 0 && !next[0].Capital {
		return -1
	}
	from := max(0, len(before)-mostAttributed)
	from += strings.LastIndexAny(before[from:], ".!?\n") + 1
	words := Words(strings.ToValidUTF8(before[from:], ""))
	said := slices.ContainsFunc(words, func(w Word) bool { return sayings[w.Lower] })
	own := slices.ContainsFunc(words, func(w Word) bool { return selfSubjects[w.Lower] })
	if !said || own || !namesSource(before[from:], words) {
		return -1
	}
	return from
}

// frameClasses tells which words the head of a frame has.
type frameClasses struct {
	strong, weak, posted, says bool
	// this says that it points at a text, and point that it presents one: "Here is".
	this, point bool
	// copies says that a word such as "copied" opens it, asksText "write", and asksWork a request such as "translate".
	copies, asksText, asksWork bool
	// isTitle says that it has no words besides nouns of texts. states says that it states a fact, or names a favourite.
	isTitle, states bool
	// mine says that the speaker is a subject. owns says that the speaker has a thing other than a character's text.
	mine, owns bool
}

func frameClassesOf(said string, words []Word) frameClasses {
	c := frameClasses{isTitle: true}
	known := frameWords()
	nouns, owner := 0, -1
	behind := -1 // the number of words behind the verb of a request
	for i, w := range words {
		lower := strings.TrimSuffix(foldAccents(w.Lower), "'s")
		first, _, _ := strings.Cut(lower, "'")
		strong, weak := known["strong"][lower], known["weak"][lower]
		c.strong, c.weak = c.strong || strong, c.weak || weak
		if strong || weak {
			nouns++
		} else if !known["of"][lower] {
			c.isTitle = false
		}
		c.this, c.point = c.this || known["this"][lower], c.point || i < 2 && known["point"][lower]
		c.copies = c.copies || i < 2 && known["copies"][lower]
		c.asksText = c.asksText || i == 0 && known["write"][lower]
		switch {
		case known["please"][lower]:
		case behind >= 0:
			behind++
		case known["work"][lower]:
			behind = 0
		default:
			behind = maxFrameWords
		}
		c.posted, c.says = c.posted || known["posted"][lower], c.says || sayings[w.Lower]
		c.states = c.states || known["states"][lower]
		isOwner := labelOwners()[lower]
		c.mine = c.mine || selfSubjects[first] || selves()[lower] && i == 0 && !isOwner
		c.owns = c.owns || owner == i-1 && owner >= 0 && !strong
		if isOwner {
			owner = i
		}
	}
	c.owns = c.owns || owner >= 0 && nouns < 2
	c.asksWork = behind >= 0 && (behind <= maxBehindWork || behind < maxFrameWords && c.this)
	if IsUnspaced(said) {
		c.mine = c.mine || saysSelf(said) || isSaid(said)
		c.strong = c.strong || hasCue(said, "unspaced-strong", strings.Contains)
		c.posted = c.posted || hasCue(said, "unspaced-posted", strings.Contains)
		c.isTitle = hasCue(said, "unspaced-strong", strings.HasPrefix)
	}
	return c
}

// maxBehindWork is the maximum number of words behind the verb of a request that points at no text: "to Spanish".
const maxBehindWork = 2

// hasCue reports whether a text in a script without spaces has, or begins with, a cue of a class.
func hasCue(said, class string, has func(s, cue string) bool) bool {
	for cue := range frameWords()[class] {
		if has(said, cue) {
			return true
		}
	}
	return false
}

// framesAfterColon reports whether the words before a colon frame the text behind it. A report of other things than the
// reporter is no frame: "My doctor wrote: no more sugar."
func framesAfterColon(head, body string) bool {
	words := Words(head)
	if len(words) == 0 || len(words) > maxFrameWords && !IsUnspaced(head) {
		return false
	}
	c := frameClassesOf(head, words)
	switch {
	case IsUnspaced(head) && c.posted:
		return !SubjectOf(head).Speaker && !hasCue(head, "unspaced-own", strings.HasPrefix)
	case c.mine:
		return false
	case c.asksWork, c.copies, c.asksText && c.weak, c.strong && (c.point || !c.states):
		return !c.owns
	}
	return (c.posted || c.says) && namesSource(head, words) && (strings.TrimSpace(body) == "" || speaksOfSelf(body))
}

// speaksOfSelf reports whether a text speaks of its speaker, also in languages that saysSelf does not know.
func speaksOfSelf(said string) bool {
	own := frameWords()["self"]
	return saysSelf(said) || slices.ContainsFunc(Words(said), func(w Word) bool { return own[foldAccents(w.Lower)] })
}

// namesSource reports whether the words of a lead name another person as the source: "Jo's status", "Jo wrote". The
// addressee of a text is no source: "message to Tom".
func namesSource(head string, words []Word) bool {
	isOwn := labelOwners()[foldAccents(words[0].Lower)]
	if isOwn && !slices.ContainsFunc(words[1:min(3, len(words))], func(w Word) bool { return IsCompanion(w.Lower) }) ||
		sayings[words[0].Lower] {
		return false
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(head))
	if IsUnspaced(head) || unicode.Is(unicode.Lo, first) {
		return len(words) > 1 && !speaksOfSelf(head)
	}
	known := frameWords()
	for i, w := range words {
		lower, last := foldAccents(w.Lower), i+1 == len(words)
		base, owns := strings.CutSuffix(lower, "'s")
		isName := !IsStopWord(base) && !headings()[base] && !timeWords[base] && !known["posted"][base]
		says := i > 0 && sayings[words[i-1].Lower] || !last && sayings[words[i+1].Lower]
		switch {
		case known["hearer"][lower] && !last && (lower != "an" || words[i+1].Capital):
			return false
		case thirdPersons[w.Lower], IsCompanion(w.Lower), isName && names()[lower]:
			return true
		case isName && (w.Capital && says || owns && !last && !ownLeads[w.Lower]):
			return true
		}
	}
	return false
}

// framesAlone reports whether a sentence frames the next one: a request to work on it, a title without a verb, or
// words that present it.
func framesAlone(said string) bool {
	words := Words(said)
	if len(words) == 0 || len(words) > maxFrameWords {
		return false
	}
	c := frameClassesOf(said, words)
	isFrame := c.asksWork && c.this
	switch asks := strings.HasSuffix(strings.TrimSpace(said), "?"); {
	case c.mine:
		return false
	case IsUnspaced(said):
		return c.isTitle && utf8.RuneCountInString(said) <= maxUnspacedFrame
	case c.strong && !asks:
		isFrame = isFrame || c.isTitle || c.point
	}
	return isFrame && !c.owns || c.point && (c.says || c.posted) && namesSource(said, words)
}

// maxUnspacedFrame is the maximum length of a framing sentence in a script without spaces, in characters.
const maxUnspacedFrame = 14

// isSaid reports whether a sentence of Chinese or Japanese states something.
func isSaid(said string) bool {
	return strings.Contains(said, "是") || strings.Contains(said, "です") || strings.Contains(said, "だ。")
}

// telling verbs name another person as the speaker of the words before them.
var telling = WordSet(`says said tells told writes wrote posts posted
	sagt sagte schreibt schrieb dice dijo dit disse diz`)

// saysOf are those that may stand before their subject.
var saysOf = WordSet("says said sagt sagte dice dijo dit disse diz")

// hearers may stand behind the verb at the end of a statement: "Jo told me".
var hearers = WordSet("me us today yesterday mir uns")

// tailOfSpeaker returns the end of a statement before the name of its speaker: "I moved to Oslo, says Tom."; 0 without
// such a name.
func tailOfSpeaker(passage string) int {
	at := strings.LastIndexAny(passage, ",—–")
	if at <= 0 {
		return 0
	}
	tail := Words(passage[at:])
	if len(tail) < 2 || len(tail) > maxTail || len(Words(passage[:at])) < 2 {
		return 0
	}
	isName := func(w Word) bool {
		return w.Capital && !IsStopWord(w.Lower) && !selfSubjects[w.Lower] && !IsCompanion(w.Lower) && !titles[w.Lower]
	}
	last := len(tail) - 1
	for last > 1 && hearers[tail[last].Lower] {
		last--
	}
	strong := frameWords()["strong"]
	switch {
	case last == 1 && telling[tail[1].Lower] && isName(tail[0]), // "Tom told me"
		len(tail) == 2 && saysOf[tail[0].Lower] && isName(tail[1]),                   // "says Tom"
		len(tail) > 2 && saysOf[tail[0].Lower] && strong[foldAccents(tail[2].Lower)], // "says the character"
		len(tail) > 2 && saysOf[tail[0].Lower] && tellsBehind(tail[1:]):              // "says the patient"
		return at
	}
	return 0
}
