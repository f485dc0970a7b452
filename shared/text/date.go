package text

import (
	"slices"
	"strings"
	"time"
)

// Unit is how much of the calendar a date mention covers.
type Unit int

// The units of a mention. Vague is a time that is certainly not the day of speaking but cannot be
// placed ("a few years ago").
const (
	Vague Unit = iota
	Day
	Weekend
	Week
	Month
	Season
	Year
)

// DateMention is an expression of time found in a text.
type DateMention struct {
	// Start and End are byte offsets: text[Start:End] is the expression as written.
	Start, End int
	// Time is the first day of the expression, midnight UTC. It is zero when Unit is Vague.
	Time time.Time
	// Unit is how much is meant.
	Unit Unit
	// Note is the absolute form ("2023-05-07", "week of 2023-05-01", "2023-06", "summer 2022");
	// empty when the expression itself is absolute and complete, or vague.
	Note string
}

// Last is the last day of the expression, midnight UTC. It is zero when Unit is Vague.
func (m DateMention) Last() time.Time {
	switch m.Unit {
	case Vague:
		return time.Time{}
	case Weekend:
		return m.Time.AddDate(0, 0, 1)
	case Week:
		return m.Time.AddDate(0, 0, 6)
	case Month:
		return m.Time.AddDate(0, 1, -1)
	case Season:
		return m.Time.AddDate(0, 3, -1)
	case Year:
		return m.Time.AddDate(1, 0, -1)
	}
	return m.Time
}

// maxMentions bounds the mentions from one text. A text of dates alone then costs no more than another.
const maxMentions = 32

// Dates finds the expressions of time in a text and resolves them against the day of at, in the zone of at. They are
// in order and do not overlap. Dates leaves ambiguous expressions out ("we may 3 times", "she sat", "a second", "every
// Friday"). A wrong date is worse than none.
func Dates(text string, at time.Time) []DateMention {
	words := Words(text)
	d := dater{text: text, words: words, today: dayIn(at), progress: &progress{}}
	others := d.others()
	if !slices.ContainsFunc(words, mayBeDate) {
		return others
	}
	var out []DateMention
	for i := 0; i < len(words) && len(out) < maxMentions; {
		if len(others) > 0 && words[i].End > others[0].Start {
			out, others = append(out, others[0]), others[1:]
			for end := out[len(out)-1].End; i < len(words) && words[i].Start < end; {
				i++
			}
			continue
		}
		m, n := d.match(i)
		if n == 0 {
			i++
			continue
		}
		m.Start, m.End = words[i].Start, words[i+n-1].End
		if len(others) > 0 && m.End > others[0].Start {
			i++
			continue
		}
		out = append(out, m)
		i += n
	}
	return append(out, others[:min(len(others), maxMentions-len(out))]...)
}

// dater resolves the mentions of one text.
type dater struct {
	text  string
	words []Word
	today time.Time
	// foreign is whether the text is in another language than English.
	foreign bool
	*progress
}

// progress is the progress of a dater: its last sentence, the English expressions that the library could not read,
// and the number of other lookups.
type progress struct {
	sentence      sentence
	unread, asked int
}

// sentence is the result from the verbs between two words. A dater looks at one sentence at a time.
type sentence struct {
	from, to       int
	pasts          int
	perfect, ahead bool
}

// tense is the tense of the verbs around a word. perfect is a present perfect without another past. ahead means the
// future.
type tense struct{ past, perfect, ahead bool }

// tense returns the tense of word i's sentence, or of its clause if that is in the present.
func (d dater) tense(i int) tense {
	if s := &d.sentence; i < s.from || i >= s.to {
		*s = sentence{from: i, to: min(i+1, len(d.words))}
		for s.from > 0 && !d.ends(s.from-1) {
			s.from--
		}
		for s.to < len(d.words) && !d.ends(s.to-1) {
			s.to++
		}
		for k := s.from; k < s.to; k++ {
			if pastAt(d.words, k) && !d.feels(k) {
				if perfectAt(d.words[s.from:], k-s.from) {
					s.perfect = true
				} else {
					s.pasts++
				}
			}
		}
		s.ahead = looksAhead(d.text, d.words, s.from, s.to)
	}
	if d.happenedOn(i) {
		return tense{past: true}
	}
	pasts := d.sentence.pasts
	if pasts > 0 && pastAt(d.words, i) {
		pasts-- // "sat" is a past, too.
	}
	past := pasts > 0 && !d.presentClause(i)
	return tense{past: past, perfect: d.sentence.perfect && !past, ahead: d.sentence.ahead}
}

// arranging verbs in the past may have a day to come: "I booked it on Friday".
var arranging = WordSet(`agreed arranged booked chose decided expected got had hoped intended meant moved needed
	planned postponed promised pushed reserved scheduled set thought wanted was were`)

// happenedOn reports whether the date at word i is the day of a past verb: "the idioms that I added on September 29".
// The verb stands right behind its subject, and no other subject stands before the date.
func (d dater) happenedOn(i int) bool {
	const longest = 6
	if d.at(i-1) != "on" {
		return false
	}
	for k := i - 2; k > max(d.sentence.from, i-longest); k-- {
		subject, _, _ := strings.Cut(d.at(k), "'")
		if strings.ContainsAny(d.text[d.words[k].End:d.words[k+1].Start], ",;:") || d.at(k) == "to" || pronouns[subject] {
			return false
		}
		if pastAt(d.words, k) {
			return pronouns[d.at(k-1)] && !arranging[d.at(k)]
		}
	}
	return false
}

// rather are words between a verb of being and its participle: "I'm kinda excited", "I'm a bit tired".
var rather = WordSet("a bit extremely kinda little pretty quite rather really so super too very")

// feels reports whether word k is a participle that tells a present state behind such words.
func (d dater) feels(k int) bool {
	be := k - 1
	for be > 0 && rather[d.at(be)] {
		be--
	}
	return be >= 0 && be < k-1 && presentBe[d.at(be)]
}

// presentClause reports whether word i is in a separate clause in the present: "ordered the flowers, they arrive
// Saturday".
func (d dater) presentClause(i int) bool {
	const longest = 12
	for k := i - 2; k > max(d.sentence.from, i-longest); k-- {
		subject, be, short := strings.Cut(d.at(k), "'")
		if !pronouns[subject] || !strings.Contains(d.text[d.words[k-1].End:d.words[k].Start], ",") && !joining[d.at(k-1)] {
			continue
		}
		verb := d.at(k + 1)
		if short {
			return (be == "re" || be == "s" || be == "m") && verb != "been"
		}
		third := subject == "he" || subject == "she" || subject == "it"
		return !TellsPast(d.words[k:i]) && !noPresent[verb] && !strings.HasSuffix(verb, "ly") &&
			third == strings.HasSuffix(verb, "s")
	}
	return false
}

// ends reports whether a sentence ends behind word i. A point behind a number or a short word may be of an
// abbreviation.
func (d dater) ends(i int) bool {
	const short = 3
	gap := d.text[d.words[i].End:d.words[i+1].Start]
	return strings.ContainsAny(gap, "?!\n") || strings.Contains(gap, ". ") && len(d.words[i].Lower) > short &&
		!d.words[i].Number
}

// toCome reports whether a day or month without a direction, at word i, lies ahead. It does unless a verb in the
// past says otherwise. Moving or booking happened in the past, but the new day lies ahead. A weekday after a
// present perfect also lies ahead.
func (d dater) toCome(i int) bool {
	t := d.tense(i)
	_, day := d.weekdayAt(i)
	past := t.past || t.perfect && !day
	return d.at(i-1) != "since" && (t.ahead || !past || putOff[d.at(i-1)] && !d.rangeTo(i))
}

// rangeTo reports whether the day at word i ends a range: "Monday to Friday".
func (d dater) rangeTo(i int) bool {
	_, day := weekdays[d.at(i-2)]
	_, month := months[d.at(i-2)]
	return day || month
}

// match tries every reading at word i, the most specific first. It returns the first match and its number of words.
func (d dater) match(i int) (DateMention, int) {
	if !mayBeDate(d.words[i]) {
		return DateMention{}, 0
	}
	readings := [...]func(dater, int) (DateMention, int){
		dater.inMonth, dater.counted, dater.beside, dater.absolute, dater.feastAlone, dater.unplaced, dater.named,
		dater.relative, dater.ago, dater.ahead, dater.dayWeek, dater.weekday, dater.monthAlone, dater.yearAlone,
	}
	for _, read := range readings {
		if m, n := read(d, i); n > 0 {
			return m, n
		}
	}
	return DateMention{}, 0
}

// at returns the lower-case word i, or "".
func (d dater) at(i int) string {
	if i < 0 || i >= len(d.words) {
		return ""
	}
	return d.words[i].Lower
}

// adjacent reports whether only spaces, and at most a comma or slash, stand between words i and i+1.
func (d dater) adjacent(i int) bool {
	if i < 0 || i+1 >= len(d.words) {
		return false
	}
	gap := d.text[d.words[i].End:d.words[i+1].Start]
	return len(gap) <= 3 && strings.Trim(gap, " ,\u00a0") == ""
}

// phrase reports whether the words from i on are exactly these, adjacent.
func (d dater) phrase(i int, words []string) bool {
	for k, w := range words {
		if d.at(i+k) != w || k > 0 && !d.adjacent(i+k-1) {
			return false
		}
	}
	return true
}

func dayOf(t time.Time) time.Time { return dayIn(t.UTC()) }

// dayIn returns the day of a time in its own zone, as midnight UTC.
func dayIn(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// monday returns the Monday of the week that a day lies in.
func monday(day time.Time) time.Time { return day.AddDate(0, 0, -(int(day.Weekday())+6)%7) }

// saturday returns the Saturday of the weekend that belongs to a day's week.
func saturday(day time.Time) time.Time { return monday(day).AddDate(0, 0, 5) }

func monthOf(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func yearOf(day time.Time) time.Time {
	return time.Date(day.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
}

// mention makes a mention of a unit that contains day, with its note.
func mention(unit Unit, day time.Time) DateMention {
	switch unit {
	case Day:
		return DateMention{Time: day, Unit: unit, Note: day.Format(time.DateOnly)}
	case Weekend:
		day = saturday(day)
		return DateMention{Time: day, Unit: unit, Note: "weekend of " + day.Format(time.DateOnly)}
	case Week:
		day = monday(day)
		return DateMention{Time: day, Unit: unit, Note: "week of " + day.Format(time.DateOnly)}
	case Month:
		return DateMention{Time: monthOf(day), Unit: unit, Note: day.Format("2006-01")}
	case Year:
		return DateMention{Time: yearOf(day), Unit: unit, Note: day.Format("2006")}
	}
	return DateMention{Unit: Vague}
}
