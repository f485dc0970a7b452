package embedded

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of the output for one turn.
const (
	// maxQuotes is how many memories one turn makes; a longer one has more of its text in each.
	maxQuotes = 12
	// maxQuoteWords is how many words neighbouring clauses may have to be one quotation.
	maxQuoteWords = 60
	// fewStems is how many words of content a clause needs to stand alone.
	fewStems = 2
	// codeShown is the number of bytes of code, or of a list's entry, that a quotation shows. The turn has the full
	// text.
	codeShown = 160
)

// quotation is what becomes a candidate.
type quotation struct {
	said    string
	sources []string
	// glue is the text between this quotation and the one before, so that joined quotations read as in the turn.
	glue string
	// cutBefore and cutBehind report whether words of its clause are left out before it and behind it.
	cutBefore, cutBehind bool
	// foreign reports whether the words are pasted from another author.
	foreign bool
	// asks is whether it is nothing but questions.
	asks bool
	// worth is how worth remembering the best of its clauses is.
	worth float64
	// tier is talk for words that no person would write down. kind is the kind of a note; other words show their kind.
	tier memory.Tier
	kind memory.Kind
}

func (q quotation) words() int { return text.CountWords(q.said) }

// join puts a neighbour behind a quotation.
func (q *quotation) join(next quotation) {
	said := next.said
	if phrase, rest, ok := text.CutAbout(said); ok && strings.Contains(q.said, phrase) {
		said = rest
	}
	glue := next.glue
	if (q.cutBehind || next.cutBefore) && !strings.ContainsAny(q.said[len(q.said)-1:], ".!?") {
		glue = "… "
	}
	q.said, q.foreign, q.cutBehind = q.said+glue+said, q.foreign || next.foreign, next.cutBehind
	q.kind = cmp.Or(q.kind, next.kind)
	if q.tier != next.tier {
		q.tier = memory.TierMemory
	}
	switch {
	case q.asks && !next.asks:
		q.worth = next.worth
	case q.asks || !next.asks:
		q.worth = max(q.worth, next.worth)
	}
	q.asks = q.asks && next.asks
}

// quote returns the quotations of a turn, one candidate a fact. It uses the turn before and an assistant's list.
func (f *Former) quote(turn memory.Turn, turns []before, options *list) []formation.Candidate {
	quotes := slices.DeleteFunc(f.clausesOf(turn, turns), onlyGreets)
	behind := newest(turns)
	if len(quotes) > 0 && !quotes[0].foreign && behind.isOfAnother(turn) {
		near := options != nil && options.ID == behind.ID
		if picked := options.takenUp(quotes[0].said, near); len(picked) > 0 {
			quotes[0].said += " [from the assistant's list: " + joined(picked) + "]"
			quotes[0].sources, quotes[0].asks = options.addTo(quotes[0].sources), false
		} else {
			quotes[0] = f.complete(quotes[0], *behind)
		}
	}
	if caption := text.OneLine(text.Printable(turn.Caption)); caption != "" {
		shown := "[shares a photo: " + caption + "]"
		if n := len(quotes) - 1; n >= 0 && quotes[n].words()+text.CountWords(shown) <= maxQuoteWords {
			quotes[n].said, quotes[n].asks = quotes[n].said+" "+shown, false
		} else {
			quotes = append(quotes, quotation{said: shown, sources: []string{turn.ID}, glue: " ", tier: f.unmarked()})
		}
	}
	var out []formation.Candidate
	for _, q := range fewer(f.worthy(quotes), maxQuotes) {
		out = append(out, f.candidate(q, turn))
	}
	return out
}

// unmarked is the tier of words outside notes.
func (f *Former) unmarked() memory.Tier {
	if f.read == nil {
		return memory.TierMemory
	}
	return memory.TierTalk
}

// clausesOf takes a turn apart. Clauses that say too little alone, or lean on the one before, stay with it in its tier.
// A pronoun that points to one person gets a note of the person.
func (f *Former) clausesOf(turn memory.Turn, turns []before) []quotation {
	var out []quotation
	add := func(q quotation, joins bool) {
		q.sources, q.asks = []string{turn.ID}, isQuestion(q.said)
		if pronoun := text.Pronoun(q.said); !joins || len(out) == 0 ||
			pronoun != "" && len(mentionsOf(out[len(out)-1].said, pronoun)) == 0 {
			q, joins = f.referTo(q, joins, out, turns, turn.Speaker)
		}
		alone := turn
		alone.Text, alone.Caption = q.said, ""
		q.worth = f.worth(alone)
		if n := len(out) - 1; n >= 0 && joins && out[n].foreign == q.foreign && out[n].tier == q.tier &&
			out[n].words()+q.words() <= maxQuoteWords {
			out[n].join(q)
			return
		}
		out = append(out, q)
	}
	around := ""
	if behind := newest(turns); behind.isOfAnother(turn) {
		around = text.Printable(behind.Text)
	}
	for _, b := range text.Blocks(text.Printable(turn.Text)) {
		switch b.Kind {
		case text.Code:
			add(quotation{said: "[code: " + shortened(b.Text) + "]", glue: " ", tier: f.unmarked()}, true)
		case text.Pasted: // it states nothing about the speaker
		case text.Quotation:
			add(quotation{said: "[quotes: " + text.OneLine(b.Text) + "]", glue: " ", foreign: true, tier: f.unmarked()}, false)
		default:
			take := func(clause string) []quotation { return []quotation{{said: clause}} }
			if f.read != nil {
				take = f.mark(b.Text, around, turn.Speaker).take
				around = b.Text
			}
			thin := false // whether all sentences so far say too little
			for _, sentence := range whole(f.splitter.Sentences(b.Text)) {
				glue, rest := " ", sentence
				for i, clause := range clauses(sentence) {
					between, behind, _ := strings.Cut(rest, clause)
					if rest = behind; i > 0 {
						glue = between
					}
					for _, q := range take(clause) {
						q.glue = glue
						add(q, thin || contentOf(q.said) < fewStems || i == 0 && leans(q.said))
						thin = contentOf(out[len(out)-1].said) < fewStems
					}
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

const (
	// leastWorth is how worth remembering a part of a quotation must be to be worth a memory.
	leastWorth = 0.6
	// leastApart is how worth remembering a quotation must be to stand apart from its neighbours.
	leastApart = 0.62
)

// isSeparate decides whether two neighbours are separate memories. A part that only asks belongs to the subject of its
// question.
func (f *Former) isSeparate(q, next quotation) bool {
	worth := min(q.worth, next.worth)
	return !q.asks && !next.asks && decision.Either(f.choose, decision.Apart, decision.Above(worth, leastApart),
		func() []float64 {
			return []float64{1, decision.Odds(worth) / 5, lengthOf(q.words() + next.words())}
		})
}

// worthy joins a quotation that is not worth a separate memory to the quotation before it. At the beginning of a turn
// it joins the next one. A note stays by itself.
func (f *Former) worthy(quotes []quotation) []quotation {
	var out []quotation
	for _, q := range quotes {
		n := len(out) - 1
		if n < 0 || q.foreign != out[n].foreign || q.kind != "" || out[n].kind != "" ||
			out[n].words()+q.words() > maxQuoteWords || f.isSeparate(out[n], q) {
			out = append(out, q)
			continue
		}
		out[n].join(q)
	}
	return out
}

// fewer joins neighbours until there are at most n: neighbours of the same tier first, and the shortest first.
func fewer(quotes []quotation, n int) []quotation {
	const otherTier = 1 << 20 // more words than a turn has
	for len(quotes) > n {
		best, least := 0, math.MaxInt
		for i := range len(quotes) - 1 {
			cost := quotes[i].words() + quotes[i+1].words()
			if quotes[i].tier != quotes[i+1].tier {
				cost += otherTier
			}
			if cost < least {
				best, least = i, cost
			}
		}
		quotes[best].join(quotes[best+1])
		quotes = slices.Delete(quotes, best+1, best+2)
	}
	return quotes
}

func (f *Former) candidate(q quotation, turn memory.Turn) formation.Candidate {
	said, mentions, expressions := annotate(q.said, turn.Time)
	kind := cmp.Or(q.kind, kindOf(said, mentions))
	switch said := kindOf(said, mentions); {
	case kind == planned:
		kind = kindOfPlan(mentions)
	case kind == memory.KindFact && q.tier != memory.TierTalk && said == memory.KindPreference:
		kind = said // the reader takes a liking with "usually" for a habit
	}
	topic, keywords := f.topics.classify(q.said)
	return formation.Candidate{
		Tier: tierOf(q, kind, f.unmarked()), Kind: kind, Content: said, Speaker: SpeakerOf(turn), Topic: topic,
		Keywords:  keywords,
		EventTime: eventTime(q.said, kind, mentions, expressions, turn.Time), Sources: q.sources,
	}
}

// SpeakerOf returns the name of a turn's speaker, or the role where the turn has no name.
func SpeakerOf(t memory.Turn) string {
	if name := text.OneLine(text.Printable(t.Speaker)); name != "" {
		return name
	}
	return string(t.Role)
}

// annotate puts behind each expression of time the day that it means.
func annotate(said string, at time.Time) (annotated string, mentions []text.DateMention, expressions []string) {
	mentions = text.Dates(said, at)
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

// eventTime returns the time of the stated event. It is the first time that can be placed, or the turn's day for an
// event without one. An end or a duration does not give the time of an event.
func eventTime(
	said string, kind memory.Kind, mentions []text.DateMention, expressions []string, at time.Time,
) memory.EventTime {
	for i, m := range mentions {
		if m.Unit != text.Vague && !endsAt(said, m) {
			return memory.EventTime{Time: m.Time, Precision: precisions[m.Unit], Expression: expressions[i]}
		}
	}
	if kind != memory.KindEpisodic || len(mentions) > 0 || at.IsZero() || lasting.MatchString(said) {
		return memory.EventTime{}
	}
	y, month, d := at.Date()
	return memory.EventTime{Time: time.Date(y, month, d, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionDay}
}

var (
	// untilDate ends right before a date that something lasts to.
	untilDate = regexp.MustCompile(`(?i)\b(?:until|till|up to|by|to) (?:the |early |mid |late )?$`)
	// lasting is a duration, which does not give the time of an event.
	lasting = regexp.MustCompile(`(?i)\bfor (?:about |almost |nearly |over |more than |the (?:last|past) )?(?:an? (?:few|couple of)|\w+) ` +
		`(?:days|weeks|months|years|decades|hours|minutes)\b`)
)

// endsAt reports whether a mention is the end of a duration.
func endsAt(text string, m text.DateMention) bool { return untilDate.MatchString(text[:m.Start]) }

var precisions = map[text.Unit]memory.Precision{
	text.Day: memory.PrecisionDay, text.Weekend: memory.PrecisionDay, text.Week: memory.PrecisionDay,
	text.Month: memory.PrecisionMonth, text.Season: memory.PrecisionYear, text.Year: memory.PrecisionYear,
}
