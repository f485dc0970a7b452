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
	if _, ok := months[d.at(i)]; ok && d.words[i].Capital && d.adjacent(i) && year4.MatchString(d.at(i+1)) {
		t, ok := d.parse(d.at(i) + " " + d.at(i+1))
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
		return ok && d.words[k].Capital
	}
	isDay := func(k int) bool { return dayNumber.MatchString(d.at(k)) }
	switch {
	case !d.adjacent(i):
	case isMonth(i) && isDay(i+1):
		return 2
	case isDay(i) && isMonth(i+1):
		return 2
	case isDay(i) && d.at(i+1) == "of" && d.adjacent(i+1) && isMonth(i+2):
		return 3
	}
	return 0
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
	t, ok := d.parse(strings.Join(parts, " "))
	if !ok {
		return DateMention{}, 0
	}
	m := mention(Day, t)
	if complete {
		m.Note = ""
	}
	return m, n
}

// parse has the library read an absolute date; a missing year is the nearest in the text's direction.
func (d dater) parse(expression string) (time.Time, bool) {
	preferred := dateparser.Past
	if d.future {
		preferred = dateparser.Future
	}
	t, err := dateparser.Parse(&dateparser.Configuration{
		Languages: []string{"en"}, CurrentTime: d.today.Add(12 * time.Hour),
		DefaultTimezone: time.UTC, PreferredDateSource: preferred,
	}, expression)
	if err != nil || t.IsZero() {
		return time.Time{}, false
	}
	return dayOf(t.Time), true
}

// weekday reads a bare weekday as the nearest one before today, or ahead where the text looks
// ahead. "Fridays", "every Friday" and "Friday nights" are habits.
func (d dater) weekday(i int) (DateMention, int) {
	day, ok := weekdays[d.at(i)]
	if !ok || !d.words[i].Capital || habitWords[d.at(i-1)] || habitParts[d.at(i+1)] && d.adjacent(i) {
		return DateMention{}, 0
	}
	back := (int(d.today.Weekday())-int(day)+6)%7 + 1
	if d.toCome(i) {
		return mention(Day, d.today.AddDate(0, 0, 7-back%7)), 1 + d.partOfDay(i)
	}
	return mention(Day, d.today.AddDate(0, 0, -back)), 1 + d.partOfDay(i)
}

// monthAlone reads "in March" and "in the summer of 2019".
func (d dater) monthAlone(i int) (DateMention, int) {
	if _, ok := seasons[d.at(i)]; ok {
		return d.seasonOfYear(i, d.at(i))
	}
	month, ok := months[d.at(i)]
	if !ok || !d.words[i].Capital || !beforeMonth[d.at(i-1)] || !d.adjacent(i-1) {
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
