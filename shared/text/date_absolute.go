package text

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	dateparser "github.com/markusmobius/go-dateparser"
)

var (
	isoDate   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	dayNumber = regexp.MustCompile(`^(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?$`)
	ordinal   = regexp.MustCompile(`^\d{1,2}(?:st|nd|rd|th)$`)
	clock     = regexp.MustCompile(`^\d{1,2}(?:[:.]\d\d)?(?:am|pm)$|^\d{1,2}:\d\d$`)
	year4     = regexp.MustCompile(`^(?:19|20)\d\d$`)
)

// absolute reads "2023-05-07", "May 7th, 2023", "7th of May", "May 7", "May 2023". The patterns find
// the candidate; the date library says which day it is.
func (d dater) absolute(i int) (DateMention, int) {
	if isoDate.MatchString(d.at(i)) {
		t, err := time.Parse(time.DateOnly, d.at(i))
		if err != nil {
			return DateMention{}, 0
		}
		return DateMention{Time: t, Unit: Day}, 1
	}
	if n := d.dayMonth(i); n > 0 {
		return d.fullDate(i, n)
	}
	if _, ok := months[d.at(i)]; ok && d.adjacent(i) && year4.MatchString(d.at(i+1)) &&
		(d.words[i].Capital || !otherWord[d.at(i)] && d.at(i) != "jan" || i == 0 || beforeMonth[d.at(i-1)]) {
		t, ok := d.parse(i, d.at(i)+" "+d.at(i+1))
		if !ok {
			return DateMention{}, 0
		}
		m := mention(Month, t)
		m.Note = ""
		return m, 2
	}
	return DateMention{}, 0
}

// dayMonth returns how many words a day and month take at i: "May 7", "7 May", "7th of May".
func (d dater) dayMonth(i int) int {
	isMonth := func(k int) bool {
		_, ok := months[d.at(k)]
		return ok && (d.words[k].Capital || !otherWord[d.at(k)] || d.sureDay(i, k))
	}
	isDay := func(k int) bool { return dayNumber.MatchString(d.at(k)) }
	switch {
	case !d.adjacent(i):
	case isDay(i+1) && isMonth(i):
		if d.adjacent(i+1) && counted[d.at(i+2)] {
			return 0 // "my friend jan 3 years old"
		}
		return 2
	case isDay(i) && isMonth(i+1):
		return 2
	case isDay(i) && d.at(i+1) == "of" && d.adjacent(i+1) && isMonth(i+2):
		return 3
	}
	return 0
}

// sureDay reports whether word i is certainly a day, although its month, word k in lower case, has another meaning.
// Examples are "3 may come", "march 3 miles" and "iphone 14 may". A day is certain if it is an ordinal or follows a
// word of dates. It is also certain if at most a year follows.
func (d dater) sureDay(i, k int) bool {
	next, before := d.at(k+1), beforeDay[d.at(i-1)]
	switch {
	case k == i+2:
		return true
	case k == i:
		return before || ordinal.MatchString(next) ||
			!pronouns[d.at(i-1)] && (!d.adjacent(i+1) || year4.MatchString(d.at(i+2)))
	case d.adjacent(k) && (helping[next] || pronouns[next] && !before):
		return false
	}
	return before || ordinal.MatchString(d.at(i)) || d.at(k) == "dec" && !d.adjacent(k) ||
		d.adjacent(k) && year4.MatchString(next)
}

// fullDate resolves a day and month of n words, with the year that may follow.
func (d dater) fullDate(i, n int) (DateMention, int) {
	parts := make([]string, 0, n+1)
	for k := i; k < i+n; k++ {
		if w := d.at(k); w != "of" {
			parts = append(parts, w)
		}
	}
	complete := d.adjacent(i+n-1) && year4.MatchString(d.at(i+n))
	if complete {
		parts = append(parts, d.at(i+n))
		n++
	}
	t, ok := d.parse(i, strings.Join(parts, " "))
	if !ok {
		return DateMention{}, 0
	}
	m := mention(Day, t)
	if complete {
		m.Note = ""
	}
	return m, n
}

// parse reads an absolute date at word i with the library. A missing year is the nearest year in the direction of
// the sentence, or the nearest of all.
func (d dater) parse(i int, expression string) (time.Time, bool) {
	const mostUnread = 40
	if d.unread >= mostUnread {
		return time.Time{}, false
	}
	t := d.tense(i)
	preferred := dateparser.CurrentPeriod
	switch {
	case t.ahead || (t.past || t.perfect) && d.toCome(i):
		preferred = dateparser.Future
	case t.past:
		preferred = dateparser.Past
	}
	found, err := library.Parse(&dateparser.Configuration{
		Languages: []string{"en"}, CurrentTime: d.today.Add(12 * time.Hour),
		DefaultTimezone: time.UTC, PreferredDateSource: preferred,
	}, expression)
	if err != nil || found.IsZero() {
		d.unread++
		return time.Time{}, false
	}
	day := dayOf(found.Time)
	if preferred == dateparser.CurrentPeriod && !strings.Contains(expression, strconv.Itoa(day.Year())) {
		for _, year := range []int{-1, 1} {
			if other := day.AddDate(year, 0, 0); other.Day() == day.Day() && other.Sub(d.today).Abs() < day.Sub(d.today).Abs() {
				return other, true
			}
		}
	}
	return day, true
}

// weekday reads a bare weekday as the nearest one before today, or ahead where the text looks
// ahead. "Fridays", "every Friday" and "Friday nights" are habits.
func (d dater) weekday(i int) (DateMention, int) {
	day, ok := d.weekdayAt(i)
	if !ok || d.habit(i) {
		return DateMention{}, 0
	}
	back := (int(d.today.Weekday())-int(day)+6)%7 + 1
	if d.toCome(i) {
		return mention(Day, d.today.AddDate(0, 0, 7-back%7)), 1 + d.partOfDay(i)
	}
	return mention(Day, d.today.AddDate(0, 0, -back)), 1 + d.partOfDay(i)
}

// weekdayAt returns the weekday at word i. A short form with another meaning needs a word of dates before it or a
// time of day after it. "sat" and "sun" need "on", and the end of their clause after them.
func (d dater) weekdayAt(i int) (time.Weekday, bool) {
	word := d.at(i)
	if day, ok := weekdays[word]; ok {
		return day, d.words[i].Capital || !d.foreign
	}
	day, ok := shortWeekdays[word]
	if !ok || d.foreign {
		return 0, false
	}
	before := d.at(i - 1)
	if d.adjacent(i) && clock.MatchString(d.at(i+1)) {
		return day, !pronouns[before]
	}
	switch word {
	case "sat", "sun":
		return day, before == "on" && d.adjacent(i-1) && (!d.adjacent(i) || partsOfDay[d.at(i+1)])
	case "mon", "tue", "wed", "thu", "fri":
		return day, beforeWeekday[before] && d.adjacent(i-1)
	}
	return day, true
}

// habit reports whether the weekday at word i recurs ("every other Friday", "Friday nights"), or may recur: "I work
// Monday to Friday". In "Monday 3rd", the number fixes the day.
func (d dater) habit(i int) bool {
	switch next := d.at(i + 1); {
	case habitWords[d.at(i-1)], habitWords[d.at(i-2)] && ordinals[d.at(i-1)],
		d.adjacent(i) && (habitParts[next] || ordinal.MatchString(next)):
		return true
	}
	t := d.tense(i)
	return !t.past && !t.perfect && !t.ahead && (d.listed(i, 1) || d.listed(i, -1))
}

// listed reports whether another weekday is next to the weekday at word i, in the direction of step: "Monday to
// Friday", "tues/thurs".
func (d dater) listed(i, step int) bool {
	k := i + step
	if rangeWords[d.at(k)] {
		k += step
	}
	_, full := weekdays[d.at(k)]
	_, short := shortWeekdays[d.at(k)]
	return (full || short) && !d.ends(min(i, k))
}

// monthAlone reads "in March" and "in the summer of 2019".
func (d dater) monthAlone(i int) (DateMention, int) {
	if _, ok := seasons[d.at(i)]; ok {
		return d.seasonOfYear(i, d.at(i))
	}
	month, ok := months[d.at(i)]
	if !ok || !d.monthName(i) || !beforeMonth[d.at(i-1)] || !d.adjacent(i-1) {
		return DateMention{}, 0
	}
	year := d.today.Year()
	switch {
	case d.toCome(i) && month < d.today.Month():
		year++
	case !d.toCome(i) && month > d.today.Month():
		year--
	}
	return mention(Month, time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)), 1
}

// monthName reports whether word i, after a word of dates, is a month. In lower case, "may" and "march" often have
// another meaning there ("this may be", "for march madness"). So do short forms.
func (d dater) monthName(i int) bool {
	switch word := d.at(i); {
	case d.words[i].Capital:
		return true
	case d.foreign, word == "mar":
		return false
	case otherWord[word]:
		next := d.at(i + 1) // "in may be", "in may i help you"
		return beforeOther[d.at(i-1)] && !(d.adjacent(i) && (helping[next] || pronouns[next] && !IsPast(d.at(i+2))))
	}
	return true
}

// seasonOfYear reads "summer of 2019" and "summer 2019".
func (d dater) seasonOfYear(i int, name string) (DateMention, int) {
	k := i + 1
	if d.at(k) == "of" {
		k++
	}
	if !year4.MatchString(d.at(k)) || !d.adjacent(i) || !d.adjacent(k-1) {
		return DateMention{}, 0
	}
	year, err := strconv.Atoi(d.at(k))
	if err != nil {
		return DateMention{}, 0
	}
	m := season(name, year)
	m.Note = ""
	return m, k - i + 1
}

// yearAlone reads "in 2019".
func (d dater) yearAlone(i int) (DateMention, int) {
	if !year4.MatchString(d.at(i)) || !beforeYear[d.at(i-1)] || !d.adjacent(i-1) {
		return DateMention{}, 0
	}
	t, err := time.Parse("2006", d.at(i))
	if err != nil {
		return DateMention{}, 0
	}
	return DateMention{Time: t, Unit: Year}, 1
}
