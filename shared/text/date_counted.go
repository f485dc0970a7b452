package text

import (
	"strings"
	"time"
)

// counted reads a number of units, counted from another day: "a week from Saturday", "a year ago today", "three days
// after 9 June", "two Fridays ago", "a week tomorrow". The result is a day. It is vague if the other day is unknown:
// "a week after the wedding".
func (d dater) counted(i int) (DateMention, int) {
	n, count, vague := d.count(i)
	if n == 0 || every[d.at(i-1)] || !d.close(i+n-1) {
		return DateMention{}, 0
	}
	if m, k := d.recurring(i+n, count, vague); k > 0 {
		return m, n + k
	}
	unit, times, ok := d.unit(i + n)
	if !ok || !d.close(i+n) {
		return DateMention{}, 0
	}
	c := span{unit, count * times}
	at := i + n + 1
	m, k := d.countedFrom(at, c)
	if k == 0 {
		m, k = d.orSo(at)
	}
	if k == 0 && unit == Week && !lasted[d.at(i-1)] {
		m, k = d.weekTo(at, c)
	}
	if k == 0 {
		return DateMention{}, 0
	}
	if vague && m.Unit != Vague {
		m = DateMention{Unit: Vague}
	}
	return m, n + 1 + k
}

// span is a number of units.
type span struct {
	unit  Unit
	count int
}

// lasted are words before a duration, and every are words before an interval.
var (
	lasted = WordSet("for since been last this next past within over")
	every  = WordSet("every each")
)

// unit reads a unit of time at word i, and how many of it the word means.
func (d dater) unit(i int) (unit Unit, times int, ok bool) {
	word := strings.TrimSuffix(strings.TrimSuffix(d.at(i), "'"), "'s")
	if word == "fortnight" || word == "fortnights" {
		return Week, 2, true
	}
	unit, ok = units[word]
	return unit, 1, ok
}

// countedFrom reads the words behind a span: a direction, and the day to count from.
func (d dater) countedFrom(i int, c span) (DateMention, int) {
	step := 1
	switch word := d.at(i); word {
	case "ago", "back":
		return d.agoFrom(i, c)
	case "later", "earlier":
		return DateMention{Unit: Vague}, 1
	case "from", "after":
		if word == "from" && d.close(i) && d.at(i+1) == "now" && d.at(i+2) != "on" {
			return mention(c.unit, d.stepUnit(c.unit, c.count)), 2
		}
	case "before", "prior":
		step = -1
	default:
		return DateMention{}, 0
	}
	towards := 0
	if d.at(i) == "from" {
		towards = 1
	}
	if m, n := d.anchor(i+1, towards); n > 0 && d.close(i) {
		if d.at(i) == "from" && rangeWords[d.at(i+1+n)] {
			return DateMention{}, 0 // "a week from Monday to Friday"
		}
		return c.from(m, step), 1 + n
	}
	return DateMention{Unit: Vague}, 1
}

// agoFrom reads "ago today" and "ago Friday". A weekday counts weeks only. It reads no other "ago".
func (d dater) agoFrom(i int, c span) (DateMention, int) {
	at := i + 1
	if d.at(at) == "on" {
		at++
	}
	m, n := d.anchor(at, -1)
	_, named := d.weekdayAt(at)
	switch {
	case n == 0 || !d.close(i) || !d.close(at-1) || at > i+1 && !named:
		return DateMention{}, 0
	case at > i+1 || named && c.unit != Week:
		return DateMention{Unit: Vague}, at - i + n // which Saturday is "two weeks ago on Saturday"?
	}
	return c.from(m, -1), 1 + n
}

// from moves a day by the span.
func (c span) from(m DateMention, step int) DateMention {
	n := c.count * step
	switch {
	case m.Unit != Day || c.unit == Weekend:
		return DateMention{Unit: Vague}
	case c.unit == Week:
		return mention(Day, m.Time.AddDate(0, 0, 7*n))
	case c.unit == Month:
		return mention(Day, monthsAfter(m.Time, n))
	case c.unit == Year:
		return mention(Day, monthsAfter(m.Time, 12*n))
	}
	return mention(Day, m.Time.AddDate(0, 0, n))
}

// monthsAfter returns the same day of another month, or the last day of a shorter month.
func monthsAfter(day time.Time, n int) time.Time {
	first := monthOf(day).AddDate(0, n, 0)
	return first.AddDate(0, 0, min(day.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// orSo reads "or two ago" and "or so ago" behind a span: some time ago.
func (d dater) orSo(i int) (DateMention, int) {
	if n, _, _ := d.count(i + 1); d.at(i) != "or" || n == 0 && d.at(i+1) != "so" {
		return DateMention{}, 0
	}
	for k := i + 2; k < i+4; k++ {
		if d.at(k) == "ago" || d.at(k) == "back" {
			return DateMention{Unit: Vague}, k - i + 1
		}
	}
	return DateMention{}, 0
}

// weekTo reads the day behind a number of weeks: "a week tomorrow", "two weeks on Friday". It needs a sentence about
// the future or the present.
func (d dater) weekTo(i int, c span) (DateMention, int) {
	at := i
	if d.at(i) == "on" {
		at++
	}
	_, named := d.weekdayAt(at)
	if !named && (at > i || d.at(i) != "today" && d.at(i) != "tomorrow") || !d.close(at-1) {
		return DateMention{}, 0
	}
	m, n := d.anchor(at, 1)
	if t := d.tense(at); n == 0 || t.past || t.perfect || rangeWords[d.at(at+n)] {
		return DateMention{}, 0
	}
	return c.from(m, 1), at - i + n
}

// dayWeek reads "Friday week" and "tomorrow week": a week after that day.
func (d dater) dayWeek(i int) (DateMention, int) {
	if d.at(i+1) != "week" || !d.close(i) || d.close(i+1) && !prepositions[d.at(i+2)] && !joining[d.at(i+2)] &&
		!pronouns[d.at(i+2)] || habitWords[d.at(i-1)] {
		return DateMention{}, 0
	}
	_, named := d.weekdayAt(i)
	if !named && d.at(i) != "today" && d.at(i) != "tomorrow" {
		return DateMention{}, 0
	}
	m, n := d.anchor(i, 1)
	if t := d.tense(i); n == 0 || t.past {
		return DateMention{}, 0
	}
	return span{Week, 1}.from(m, 1), 2
}

// recurring reads a day or a season that comes back, with "ago" or "from now": "two Fridays ago", "three summers ago".
func (d dater) recurring(i, count int, vague bool) (DateMention, int) {
	name, plural := strings.CutSuffix(d.at(i), "s")
	day, isDay := weekdays[name]
	first, isSeason := seasons[name]
	step, n := 0, 2
	switch {
	case !plural || !isDay && !isSeason && name != "christmase" || !d.close(i):
		return DateMention{}, 0
	case d.at(i+1) == "ago" || d.at(i+1) == "back":
		step = -1
	case d.at(i+1) == "from" && d.at(i+2) == "now":
		step, n = 1, 3
	default:
		return DateMention{}, 0
	}
	more := count - 1
	switch {
	case vague:
		return DateMention{Unit: Vague}, n
	case isDay && step < 0:
		return mention(Day, d.stepWeekday(-1, day).AddDate(0, 0, -7*more)), n
	case isDay:
		return mention(Day, d.coming(day).AddDate(0, 0, 7*more)), n
	case isSeason:
		nearest := d.stepSeason(step, name, first)
		return season(name, nearest.Time.Year()+step*more), n
	}
	day25 := nearest(d.today, time.December, 25, step)
	return mention(Month, day25.AddDate(step*more, 0, 0)), n
}

// coming is the nearest weekday behind today.
func (d dater) coming(day time.Weekday) time.Time {
	back := (int(d.today.Weekday())-int(day)+6)%7 + 1
	return d.today.AddDate(0, 0, 7-back%7)
}

// anchor reads a day at word i to count from. A weekday is the nearest one in the given direction, or by the tense of
// its sentence if the direction is 0.
func (d dater) anchor(i, towards int) (DateMention, int) {
	if i < 0 || i >= len(d.words) {
		return DateMention{}, 0
	}
	if m, n := d.feast(i, towards); n > 0 {
		return m, n
	}
	if day, ok := d.weekdayAt(i); ok && towards != 0 && !habitParts[d.at(i+1)] {
		if towards > 0 {
			return mention(Day, d.coming(day)), 1 + d.partOfDay(i)
		}
		return mention(Day, d.stepWeekday(-1, day)), 1 + d.partOfDay(i)
	}
	for _, read := range [...]func(dater, int) (DateMention, int){dater.absolute, dater.named, dater.relative,
		dater.weekday} {
		if m, n := read(d, i); n > 0 && m.Unit == Day {
			return m, n
		}
	}
	return DateMention{}, 0
}

// close reports whether only spaces stand between words i and i+1.
func (d dater) close(i int) bool {
	return d.adjacent(i) && !strings.Contains(d.text[d.words[i].End:d.words[i+1].Start], ",")
}
