package embedded

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of what is made of one turn.
const (
	// maxQuotes is how many memories one turn makes; a longer one has more of its text in each.
	maxQuotes = 12
	// maxQuoteWords is how many words neighbouring clauses may have to be one quotation.
	maxQuoteWords = 60
	// fewStems is how many words of content a clause needs to stand alone.
	fewStems = 2
	// shortAnswer is how many words may answer a question so that they say nothing without it.
	shortAnswer = 8
	// codeShown is how many bytes of code, or of a list's entry, a quotation shows; the turn has all of it.
	codeShown = 160
)

// quotation is what becomes a candidate.
type quotation struct {
	said    string
	sources []string
	// glue is what stood between it and the one before, so that what is joined again reads as it was said.
	glue string
	// foreign is whether the words are somebody else's, pasted.
	foreign bool
	// worth is how worth remembering the best of its clauses is.
	worth float64
}

func (q quotation) words() int { return len(strings.Fields(q.said)) }

// join puts a neighbour behind a quotation.
func (q *quotation) join(next quotation) {
	q.said, q.foreign, q.worth = q.said+next.glue+next.said, q.foreign || next.foreign, max(q.worth, next.worth)
}

// quote returns what a turn says behind another, one candidate a fact.
func (f *Former) quote(turn memory.Turn, behind *before) []formation.Candidate {
	quotes := f.clausesOf(turn)
	if len(quotes) > 0 && !quotes[0].foreign && behind != nil && (behind.Speaker != turn.Speaker || behind.Role != turn.Role) {
		quotes[0] = f.complete(quotes[0], *behind)
	}
	if caption := text.OneLine(clean(turn.Caption)); caption != "" {
		shown := "[shares a photo: " + caption + "]"
		if n := len(quotes) - 1; n >= 0 && quotes[n].words()+len(strings.Fields(shown)) <= maxQuoteWords {
			quotes[n].said += " " + shown
		} else {
			quotes = append(quotes, quotation{said: shown, sources: []string{turn.ID}, glue: " "})
		}
	}
	quotes = worthy(quotes)
	out := make([]formation.Candidate, 0, len(quotes))
	for _, q := range fewer(quotes, maxQuotes) {
		out = append(out, f.candidate(q, turn))
	}
	return out
}

// clausesOf takes a turn apart. Clauses that say too little alone, or lean on the one before, stay with it.
func (f *Former) clausesOf(turn memory.Turn) []quotation {
	var out []quotation
	add := func(said, glue string, foreign, joins bool) {
		q := quotation{said: said, sources: []string{turn.ID}, glue: glue, foreign: foreign}
		alone := turn
		alone.Text, alone.Caption = said, ""
		q.worth = f.worth(alone)
		if n := len(out) - 1; n >= 0 && joins && out[n].foreign == foreign && out[n].words()+q.words() <= maxQuoteWords {
			out[n].join(q)
			return
		}
		out = append(out, q)
	}
	for _, b := range text.Blocks(clean(turn.Text)) {
		switch b.Kind {
		case text.Code:
			add("[code: "+shortened(b.Text)+"]", " ", false, true)
		case text.Quotation:
			add("[quotes: "+text.OneLine(b.Text)+"]", " ", true, false)
		default:
			thin := false // whether all that was said so far says too little
			for _, sentence := range f.splitter.Split(b.Text) {
				glue, rest := " ", sentence
				for i, clause := range clauses(sentence) {
					between, behind, _ := strings.Cut(rest, clause)
					if rest = behind; i > 0 {
						glue = between
					}
					stems := contentOf(clause)
					add(clause, glue, false, thin || stems < fewStems || i == 0 && leans(clause))
					last := &out[len(out)-1]
					thin = contentOf(last.said) < fewStems
				}
			}
		}
	}
	return out
}

// shortened is a text as far as a quotation shows it, cut behind a word.
func shortened(s string) string {
	line := text.OneLine(s)
	if len(line) <= codeShown {
		return line
	}
	cut := text.Cut(line, codeShown)
	if at := strings.LastIndexByte(cut, ' '); at > 0 {
		cut = cut[:at]
	}
	return cut + "…"
}

// leastWorth is how worth remembering a quotation must be to be a memory of its own.
const leastWorth = 0.6

// worthy joins what is not worth a memory of its own to what stands before it, or behind it at the beginning of a turn.
func worthy(quotes []quotation) []quotation {
	var out []quotation
	for _, q := range quotes {
		n := len(out) - 1
		if n < 0 || q.foreign != out[n].foreign || q.worth >= leastWorth && out[n].worth >= leastWorth ||
			out[n].words()+q.words() > maxQuoteWords {
			out = append(out, q)
			continue
		}
		out[n].join(q)
	}
	return out
}

// complete puts in front of a turn's first quotation what it needs to stand alone: the question that it answers, and the entry of the
// assistant's list that it picks.
func (f *Former) complete(q quotation, behind before) quotation {
	if behind.formed {
		q.sources = append(q.sources, behind.ID)
	}
	said := clean(behind.Text)
	if item := picked(q.said, said); item != "" && behind.Role == memory.RoleAssistant {
		q.said += " [from the assistant's list: " + item + "]"
		return q
	}
	if sentences := f.splitter.Split(said); q.words() <= shortAnswer && !alone(q.said) {
		if n := len(sentences) - 1; n >= 0 && isQuestion(sentences[n]) {
			q.said = "[asked: " + sentences[n] + "] " + q.said
			return q
		}
	}
	q.sources = q.sources[:1]
	return q
}

// listed is an entry of a numbered list.
var listed = regexp.MustCompile(`(?m)^\s*(?:\*\*)?(\d{1,2})[.)]\s+(.+)$`)

// ordinals are the words that pick an entry of a list.
var ordinals = map[string]int{
	"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5, "sixth": 6, "6th": 6,
	"seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "ninth": 9, "9th": 9, "tenth": 10, "10th": 10,
}

// pointing words stand before an ordinal that picks; behind it stands one of choice, or what the list is of.
var (
	pointing = text.WordSet("the that your this")
	choice   = text.WordSet("one option idea suggestion choice")
)

// picked is the entry of a list that somebody picks by its place, or "".
func picked(said, list string) string {
	entries := listed.FindAllStringSubmatch(list, -1)
	if len(entries) < 2 {
		return ""
	}
	words, known := text.Words(said), text.StemSet(list)
	for i, w := range words {
		place, ok := ordinals[w.Lower]
		if ok && (i == 0 || !pointing[words[i-1].Lower]) || ok && i+1 < len(words) && !text.IsFiller(said, words, i+1) &&
			!choice[words[i+1].Lower] && !known[text.Stem(words[i+1].Lower)] {
			continue // "I came second", "the first time"
		}
		if !ok && i > 0 && (words[i-1].Lower == "number" || words[i-1].Lower == "option") {
			place, _ = strconv.Atoi(w.Lower)
		}
		for _, e := range entries {
			if place > 0 && e[1] == strconv.Itoa(place) {
				return shortened(e[2])
			}
		}
	}
	return ""
}

// fewer joins neighbours, the shortest first, until there are at most n.
func fewer(quotes []quotation, n int) []quotation {
	for len(quotes) > n {
		best := 0
		for i := range len(quotes) - 1 {
			if quotes[i].words()+quotes[i+1].words() < quotes[best].words()+quotes[best+1].words() {
				best = i
			}
		}
		quotes[best].join(quotes[best+1])
		quotes = slices.Delete(quotes, best+1, best+2)
	}
	return quotes
}

func (f *Former) candidate(q quotation, turn memory.Turn) formation.Candidate {
	said, mentions, expressions := annotate(q.said, turn.Time)
	kind := kindOf(said, mentions)
	topic, keywords := f.topics.of(q.said)
	return formation.Candidate{
		Kind: kind, Content: said, Speaker: SpeakerOf(turn), Topic: topic, Keywords: keywords,
		EventTime: eventTime(q.said, kind, mentions, expressions, turn.Time), Sources: q.sources,
	}
}

// SpeakerOf is how the speaker of a turn is called: by name, or by role where there is none.
func SpeakerOf(t memory.Turn) string {
	if name := text.OneLine(clean(t.Speaker)); name != "" {
		return name
	}
	return string(t.Role)
}

// clean takes control characters, invisible marks and invalid bytes out of what was said. The joiner that emoji are made with stays.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
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

// annotate puts behind each expression of time the day that it means.
func annotate(said string, at time.Time) (annotated string, mentions []text.DateMention, expressions []string) {
	mentions = dates(said, at)
	var b strings.Builder
	pos := 0
	for _, m := range mentions {
		b.WriteString(said[pos:m.End])
		if m.Note != "" {
			b.WriteString(" (" + m.Note + ")")
		}
		expressions = append(expressions, said[m.Start:m.End])
		pos = m.End
	}
	b.WriteString(said[pos:])
	return b.String(), mentions, expressions
}

// eventTime returns when what is told happens: the first time that can be placed, else the turn's own day for what happened without
// one. When something ends, or how long it lasts, does not say when it is.
func eventTime(said string, kind memory.Kind, mentions []text.DateMention, expressions []string, at time.Time) memory.EventTime {
	for i, m := range mentions {
		if m.Unit != text.Vague && !endsAt(said, m) {
			return memory.EventTime{Time: m.Time, Precision: precisions[m.Unit], Expression: expressions[i]}
		}
	}
	if kind != memory.KindEpisodic || len(mentions) > 0 || at.IsZero() || lasting.MatchString(said) {
		return memory.EventTime{}
	}
	y, month, d := at.UTC().Date()
	return memory.EventTime{Time: time.Date(y, month, d, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionDay}
}

var precisions = map[text.Unit]memory.Precision{
	text.Day: memory.PrecisionDay, text.Weekend: memory.PrecisionDay, text.Week: memory.PrecisionDay,
	text.Month: memory.PrecisionMonth, text.Season: memory.PrecisionYear, text.Year: memory.PrecisionYear,
}
