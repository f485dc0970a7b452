package text

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// besideUnits are the units beside a day: "the week before 9 June".
var besideUnits = map[string]Unit{
	"day": Day, "morning": Day, "afternoon": Day, "evening": Day, "night": Day, "weekend": Weekend, "week": Week,
	"month": Month, "year": Year,
}

// beside reads a unit or a weekday beside another day: "the Friday before 15 July", "the day after Christmas", "the
// night before last". It is vague if the other day is unknown: "the day before the wedding".
func (d dater) beside(i int) (DateMention, int) {
	at, article := i, d.at(i) == "the"
	if article {
		at++
	}
	step := map[string]int{"before": -1, "after": 1}[d.at(at+1)]
	unit, isUnit := besideUnits[d.at(at)]
	day, isDay := weekdays[d.at(at)]
	if step == 0 || article && !d.close(i) || !d.close(at) {
		return DateMention{}, 0
	}
	n := at + 2 - i
	from := at + 2
	if d.at(from) == "the" {
		from++
	}
	if m, k := d.anchor(from, 0); k > 0 && d.close(at+1) && d.close(from-1) && (isUnit || isDay) {
		if isDay {
			return d.weekdayBeside(m, step, day), from + k - i
		}
		return besideDay(m.Time, unit, step), from + k - i
	}
	if last := d.at(at + 2); d.close(at+1) && (last == "last" && step < 0 || last == "next" && step > 0) {
		if m, ok := d.secondNext(at, step); ok {
			return m, n + 1
		}
	}
	if article && (isUnit || isDay) {
		return DateMention{Unit: Vague}, n
	}
	return DateMention{}, 0
}

// secondNext reads the name of a time at word i as the second one in a direction: "the Friday before last".
func (d dater) secondNext(i, step int) (DateMention, bool) {
	word := d.at(i)
	if day, ok := weekdays[word]; ok {
		if step < 0 {
			return mention(Day, d.stepWeekday(-1, day).AddDate(0, 0, -7)), true
		}
		return mention(Day, d.coming(day).AddDate(0, 0, 7)), true
	}
	if month, ok := months[word]; ok {
		return mention(Month, d.stepMonth(step, month).AddDate(step, 0, 0)), true
	}
	if first, ok := seasons[word]; ok {
		return season(word, d.stepSeason(step, word, first).Time.Year()+step), true
	}
	if unit, ok := besideUnits[word]; ok {
		return mention(unit, d.stepUnit(unit, 2*step)), true
	}
	return DateMention{}, false
}

// weekdayBeside is the nearest weekday before or after a day.
func (d dater) weekdayBeside(m DateMention, step int, day time.Weekday) DateMention {
	other := m.Time.AddDate(0, 0, step)
	for other.Weekday() != day {
		other = other.AddDate(0, 0, step)
	}
	return mention(Day, other)
}

// besideDay is the unit before or after a day.
func besideDay(day time.Time, unit Unit, step int) DateMention {
	switch unit {
	case Week, Weekend:
		return mention(unit, day.AddDate(0, 0, 7*step))
	case Month:
		return mention(unit, monthOf(day).AddDate(0, step, 0))
	case Year:
		return mention(unit, yearOf(day).AddDate(step, 0, 0))
	}
	return mention(Day, day.AddDate(0, 0, step))
}

// places are the words for a place in a series. The last one has the place -1.
var places = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5,
	"last": -1,
}

// inMonth reads a part of a month: "the second Tuesday of May" is a day, and "the last week of March" is in March. It
// is vague in any other time: "the first week of the course", "the last day of every month".
func (d dater) inMonth(i int) (DateMention, int) {
	at, article := i, d.at(i) == "the" || d.at(i-1) == "my" || d.at(i-1) == "our"
	if d.at(i) == "the" {
		at++
	}
	place, ok := places[d.at(at)]
	day, isDay := d.weekdayAt(at + 1)
	unit, isUnit := besideUnits[d.at(at+1)]
	word := d.at(at + 2)
	if !ok || !isDay && !isUnit || word != "of" && word != "in" || !d.close(at) || !d.close(at+1) ||
		at > i && !d.close(i) {
		return DateMention{}, 0
	}
	n := at + 3 - i
	m, k := d.monthOf(at + 3)
	switch {
	case k == 0 && word == "of" && (article || d.at(at+3) == "the" || habitWords[d.at(at+3)]):
		return DateMention{Unit: Vague}, n
	case k == 0 || unit == Month || unit == Year:
		return DateMention{}, 0
	case unit == Week || unit == Weekend:
		return mention(Month, m), n + k
	}
	if other := placed(m, place, day, isDay); other.Month() == m.Month() {
		return mention(Day, other), n + k
	}
	return DateMention{Unit: Vague}, n + k
}

// placed is a day of a month, counted from its beginning or, for place -1, its end. It counts one weekday, or all days.
func placed(month time.Time, place int, day time.Weekday, isDay bool) time.Time {
	at, step := month, 1
	if place < 0 {
		at, step, place = month.AddDate(0, 1, -1), -1, -place
	}
	week := 1
	if isDay {
		for week = 7; at.Weekday() != day; {
			at = at.AddDate(0, 0, step)
		}
	}
	return at.AddDate(0, 0, step*week*(place-1))
}

// monthOf reads a month at word i.
func (d dater) monthOf(i int) (time.Time, int) {
	if i >= len(d.words) || !d.close(i-1) {
		return time.Time{}, 0
	}
	for _, read := range [...]func(dater, int) (DateMention, int){dater.absolute, dater.relative, dater.monthAlone} {
		if m, n := read(d, i); n > 0 && m.Unit == Month {
			return m.Time, n
		}
	}
	return time.Time{}, 0
}

// toldUnits are the units of a time that hangs on the story before it. toldSeasons are the seasons without another
// meaning.
var (
	toldUnits   = Union(keys(besideUnits), keys(weekdays))
	toldSeasons = WordSet("summer winter autumn")
	told        = WordSet("next following previous same")
	ofCourse    = WordSet("week day month year")
)

// unplaced reads a time that hangs on other words: "the next day", "that summer", "week 3" of a course, "on the 13th"
// of some month.
func (d dater) unplaced(i int) (DateMention, int) {
	switch word := d.at(i); {
	case !d.close(i):
	case word == "the" && told[d.at(i+1)] && toldUnits[d.at(i+2)] && d.close(i+1):
		return DateMention{Unit: Vague}, 3
	case word == "that" && (toldUnits[d.at(i+1)] || toldSeasons[d.at(i+1)]):
		return DateMention{Unit: Vague}, 2
	case ofCourse[word] && !every[d.at(i-1)] && strings.Trim(d.at(i+1), "0123456789") == "" &&
		!(d.adjacent(i+1) && d.counts(i+2)):
		return DateMention{Unit: Vague}, 2
	case word == "the" && beforeDay[d.at(i-1)] && ordinal.MatchString(d.at(i+1)) &&
		(!d.adjacent(i+1) || joining[d.at(i+2)] || prepositions[d.at(i+2)]):
		return DateMention{Unit: Vague}, 2
	}
	return DateMention{}, 0
}

// counts reports whether word i is counted by a number before it: "every week 3 times".
func (d dater) counts(i int) bool {
	_, _, isUnit := d.unit(i)
	return isUnit || counted[d.at(i)]
}

// feastDay is a day with a name and a date. A season is longer than its day.
type feastDay struct {
	words  []string
	month  time.Month
	day    int
	season bool
}

// feasts, longest first. movable are the days with another date in every year or country.
var (
	feasts = []feastDay{
		{[]string{"christmas", "eve"}, time.December, 24, false},
		{[]string{"christmas", "day"}, time.December, 25, false},
		{[]string{"boxing", "day"}, time.December, 26, false},
		{[]string{"new", "year's", "eve"}, time.December, 31, false},
		{[]string{"new", "years", "eve"}, time.December, 31, false},
		{[]string{"new", "year's", "day"}, time.January, 1, false},
		{[]string{"valentine's", "day"}, time.February, 14, false},
		{[]string{"halloween"}, time.October, 31, false},
		{[]string{"christmas"}, time.December, 25, true},
	}
	movable = [][]string{
		{"good", "friday"}, {"black", "friday"}, {"ash", "wednesday"}, {"palm", "sunday"}, {"cyber", "monday"},
		{"easter", "sunday"}, {"easter", "monday"}, {"easter"}, {"thanksgiving"}, {"new", "year's"},
	}
	feastStarts = WordSet("christmas boxing new valentine's halloween good black ash palm cyber easter thanksgiving")
	beforeFeast = WordSet("at on over before after around since during until till by")
	feastParts  = WordSet("time break holiday holidays weekend morning evening")
)

// feast reads the name of a day with a fixed date. The nearest one in the given direction is meant, or by the tense of
// the sentence if the direction is 0.
func (d dater) feast(i, towards int) (DateMention, int) {
	f, ok := d.feastAt(i)
	if !ok {
		return DateMention{}, 0
	}
	if towards == 0 {
		if towards = -1; d.toCome(i) {
			towards = 1
		}
	}
	return mention(Day, nearest(d.today, f.month, f.day, towards)), len(f.words)
}

func (d dater) feastAt(i int) (feastDay, bool) {
	if !feastStarts[d.at(i)] {
		return feastDay{}, false
	}
	at := slices.IndexFunc(feasts, func(f feastDay) bool { return d.phrase(i, f.words) })
	if at < 0 {
		return feastDay{}, false
	}
	return feasts[at], true
}

// nearest is the nearest such day before today, or from today on.
func nearest(today time.Time, month time.Month, day, towards int) time.Time {
	at := time.Date(today.Year(), month, day, 0, 0, 0, 0, time.UTC)
	switch {
	case towards < 0 && !at.Before(today):
		return at.AddDate(-1, 0, 0)
	case towards > 0 && at.Before(today):
		return at.AddDate(1, 0, 0)
	}
	return at
}

// feastAlone reads the name of a day that comes every year: vague without a direction, as habits have it, too. "last
// Christmas" is in December.
func (d dater) feastAlone(i int) (DateMention, int) {
	step, ok := directions[d.at(i)]
	f, fixed := d.feastAt(i + 1)
	if ok && fixed && d.close(i) {
		if step == 0 {
			if step = -1; d.toCome(i) {
				step = 1
			}
		}
		day := nearest(d.today, f.month, f.day, step)
		if f.season {
			return mention(Month, day), 1 + len(f.words)
		}
		return mention(Day, day), 1 + len(f.words)
	}
	if !feastStarts[d.at(i)] {
		return DateMention{}, 0
	}
	n := 0
	if f, fixed = d.feastAt(i); fixed {
		n = len(f.words)
	} else if at := slices.IndexFunc(movable, func(words []string) bool { return d.phrase(i, words) }); at >= 0 {
		n = len(movable[at])
	}
	_, direction := directions[d.at(i-1)]
	before := d.at(i - 1)
	if n == 0 || n == 1 && !direction && !beforeFeast[before] && (before != "for" || !d.tense(i).past) {
		return DateMention{}, 0
	}
	if feastParts[d.at(i+n)] && d.close(i+n-1) {
		n++
	}
	if year := d.at(i + n); fixed && year4.MatchString(year) && d.close(i+n-1) {
		if y, err := strconv.Atoi(year); err == nil {
			return mention(Day, time.Date(y, f.month, f.day, 0, 0, 0, 0, time.UTC)), n + 1
		}
	}
	return DateMention{Unit: Vague}, n
}
