package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// spoken is a line of a text with its owner by label.
type spoken struct {
	// from and to are its bytes, words is where those behind the label begin.
	from, to, words int
	of              label
	who             string
	// named says that the label is written as one of a person, or for oneself.
	named bool
}

var (
	// senderKeys and bodyKeys are fields of messages in data: "name: Tom", "text: I am in Rome".
	senderKeys = WordSet("name from sender author speaker user username who by von de autor nombre nom nome mittente")
	bodyKeys   = WordSet("text message msg body content said says nachricht mensaje texto texte mensagem messaggio testo")
)

// lines marks lines of data and of dialogues as passed on. In the rest, it marks the words and claims of other people.
func (p *parted) lines(rest string) {
	roles := false
	for l := range strings.Lines(rest) {
		roles = roles || passedLine.MatchString(l)
	}
	block := ownWord
	for _, l := range p.readLines(rest) {
		line := rest[l.from:l.to]
		switch {
		case strings.TrimSpace(line) == "":
			if l.from > 0 && block != ownWord && strings.TrimSpace(rest[:l.from]) != "" && !endsWithColon(rest[:l.from]) {
				block = ownWord
			}
			continue
		case passedLine.MatchString(line), roles && userLine.MatchString(line):
			p.pass(l.from, l.to, passedOn, ' ')
			continue
		case l.of == othersLabel:
			p.pass(l.from, l.to, labelledWord, ' ')
			block = blockBehind(rest[l.words:l.to], labelledWord)
			continue
		case block == labelledWord && l.of != headingLabel && l.of != speakerLabel:
			p.pass(l.from, l.to, labelledWord, ' ')
			continue
		case l.of == headingLabel, l.of == speakerLabel:
			block = ownWord
		case l.of == unsureLabel:
			block = blockBehind(rest[l.words:l.to], unsureWord)
		}
		p.passages(line, l.from)
		if to := sayingEnds(line); to >= 0 && l.of != speakerLabel {
			p.pass(l.from+to, l.to, labelledWord, ' ')
			if speaksOfSelf(p.said[l.from+to : l.to]) {
				p.lead(l.from+max(0, strings.LastIndexAny(line[:to-1], ".!?")+1), l.from+to)
			}
			block = blockBehind(line[to:], labelledWord)
			continue
		}
		if words, ok := leadsIn(line, p.speaker); ok && l.of != speakerLabel && l.of != unsureLabel {
			l.of, block = unsureLabel, blockBehind(line[words:], unsureWord)
		}
		if l.of == unsureLabel || block == unsureWord || userLine.MatchString(line) {
			p.doubt(l.from, l.to)
		}
	}
	if from := p.letterFrom(rest); from >= 0 {
		p.doubt(from, len(rest))
	} else if isForward(rest) {
		p.doubt(0, len(rest))
	}
}

// blockBehind is the voice of the lines behind one that has only a label.
func blockBehind(words string, v voice) voice {
	if strings.TrimSpace(words) == "" {
		return v
	}
	return ownWord
}

func endsWithColon(s string) bool {
	s = strings.TrimRight(s, " \t\r\n")
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}

// readLines reads the labels of lines. Labels that repeat, next to other labels or another person's, are names.
func (p *parted) readLines(rest string) []spoken {
	var out []spoken
	at, sender, foreign := 0, false, false
	counts := map[string]int{}
	for l := range strings.Lines(rest) {
		s := p.readLine(strings.TrimRight(l, "\r\n"), at, &sender)
		if s.named {
			counts[s.who]++
			foreign = foreign || s.of == othersLabel
		}
		out = append(out, s)
		at += len(l)
	}
	again := foreign
	for _, n := range counts {
		again = again || n > 1
	}
	for i, s := range out {
		switch {
		case len(counts) < 2 || s.of != maybeLabel && s.of != unsureLabel || !s.named:
		case again:
			out[i].of = othersLabel
		default:
			out[i].of = unsureLabel
		}
	}
	return out
}

func (p *parted) readLine(line string, at int, sender *bool) spoken {
	s := spoken{from: at, to: at + len(line), words: at}
	if a, ok := p.attribution(line); ok {
		words := line[a.rest:]
		s.of, s.who, s.words = a.labelOf(words, p.speaker), strings.ToLower(a.label), at+a.rest
		switch {
		case senderKeys[s.who]:
			*sender = isSender(words, p.speaker)
		case *sender && bodyKeys[s.who]:
			s.of = othersLabel
		}
		s.named = s.of > headingLabel && isNameShaped(a.label) || s.of == othersLabel || selves()[s.who]
	}
	if s.of == noLabel && strings.ContainsAny(line, "\t|,;") {
		s.of, s.who = rowLabel(line, p.speaker)
		s.words = s.to - 1
	}
	return s
}

// attribution reads the label of a line that has a mark of one.
func (p *parted) attribution(line string) (a attribution, ok bool) {
	if !strings.ContainsAny(line, ":：–—>-") {
		return a, false
	}
	return attributionOf(line)
}

// isSender reports whether the value of a field is another person's name.
func isSender(value, speaker string) bool {
	words := lowerWords(value)
	return len(words) > 0 && len(words) <= maxLabelWords && !saysSelf(value) && !isSpeaker(words, speaker)
}

// OneLine is a text without line breaks, repeated blanks and invalid bytes.
func OneLine(s string) string { return strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ") }

// Cut shortens valid text to at most n bytes, between characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Printable takes control characters, invisible marks, marks of direction and invalid bytes out of a text. The joiner
// of emoji stays, and the non-joiner within words of other scripts, which spells them.
func Printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\t' }) {
		return s // the usual case, which needs no look at Unicode's classes
	}
	var last rune
	return strings.Map(func(r rune) rune {
		behind := last
		last = r
		switch {
		case r == '\u200c' && (unicode.IsLetter(behind) || unicode.IsMark(behind)) && !unicode.Is(unicode.Latin, behind):
			return r
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Co, r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, s)
}

// BlockKind is the kind of a message's part, by its markup.
type BlockKind int

// The kinds of blocks.
const (
	// Prose is text in the speaker's own words.
	Prose BlockKind = iota
	// Code stands between fences.
	Code
	// Quotation is text of another person, in lines that begin with ">".
	Quotation
	// Pasted is a log, or a text that is too long to be typed.
	Pasted
)

// Block is a run of lines of one kind.
type Block struct {
	Kind BlockKind
	// Text is the content of the block, without the marks of its kind.
	Text string
}

// Blocks takes a message apart into prose, fenced code, quoted lines and pasted texts, in order and without empty ones.
// A fence that is not closed goes to the end.
func Blocks(message string) []Block {
	var out []Block
	parts, _ := pastes(message)
	at := 0
	for _, p := range parts {
		out = append(out, typedBlocks(message[at:p.from])...)
		out = append(out, Block{Pasted, strings.TrimSpace(message[p.from:p.to])})
		at = p.to
	}
	return append(out, typedBlocks(message[at:])...)
}

// typedBlocks is Blocks for a text without pasted parts.
func typedBlocks(message string) []Block {
	var out []Block
	var lines []string
	kind := Prose
	flush := func(next BlockKind) {
		if said := strings.TrimSpace(strings.Join(lines, "\n")); said != "" {
			out = append(out, Block{kind, said})
		}
		lines, kind = nil, next
	}
	fence := ""
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
				flush(Prose)
				continue
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush(Code)
			fence = trimmed[:3]
			continue
		case strings.HasPrefix(trimmed, ">"):
			if kind != Quotation {
				flush(Quotation)
			}
			line = strings.TrimSpace(strings.TrimLeft(trimmed, "> "))
		case kind == Quotation:
			flush(Prose)
		}
		lines = append(lines, line)
	}
	flush(Prose)
	return out
}
