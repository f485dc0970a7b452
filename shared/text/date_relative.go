package text

import (
	"strconv"
	"time"
)

// named reads phrases that name a day by its distance, and those that cannot be placed.
func (d dater) named(i int) (DateMention, int) {
	for _, p := range fixedPhrases {
		if !d.phrase(i, p.words) {
			continue
		}
		n := len(p.words)
		if partsOfDay[d.at(i+n)] && d.adjacent(i+n-1) {
			n++
		}
		return mention(Day, d.today.AddDate(0, 0, p.days)), n
	}
	for _, p := range vaguePhrases {
		if d.phrase(i, p) {
			return DateMention{Unit: Vague}, len(p)
		}
	}
	return DateMention{}, 0
}

// relative reads "last week", "this past weekend", "next March", "last Friday", "last summer".
func (d dater) relative(i int) (DateMention, int) {
	step, ok := directions[d.at(i)]
	if !ok || !d.adjacent(i) {
		return DateMention{}, 0
	}
	n := 1
	if second, ok := directions[d.at(i+1)]; ok && d.at(i) == "this" && d.adjacent(i+1) {
		step, n = second, 2
	}
	word := d.at(i + n)
	if day, ok := d.weekdayAt(i + n); ok {
		return mention(Day, d.stepWeekday(step, day)), n + 1 + d.partOfDay(i+n)
	}
	if month, ok := months[word]; ok && (d.words[i+n].Capital ||
		!d.foreign && (!otherWord[word] || word == "march" && d.at(i-1) != "the")) {
		return mention(Month, d.stepMonth(step, month)), n + 1
	}
	if month, ok := seasons[word]; ok {
		return d.stepSeason(step, word, month), n + 1
	}
	switch word {
	case "week", "weekend", "month", "year":
		return mention(units[word], d.stepUnit(units[word], step)), n + 1
	}
	return DateMention{}, 0
}

func (d dater) partOfDay(i int) int {
	if partsOfDay[d.at(i+1)] && d.adjacent(i) {
		return 1
	}
	return 0
}

// ago reads "three days ago", "a couple of weeks ago", "two weekends ago".
func (d dater) ago(i int) (DateMention, int) {
	n, count, vague := d.count(i)
	if n == 0 || !d.adjacent(i+n-1) {
		return DateMention{}, 0
	}
	unit, times, ok := d.unit(i + n)
	if !ok || !d.adjacent(i+n) {
		return DateMention{}, 0
	}
	switch d.at(i + n + 1) {
	case "ago", "back":
	default:
		return DateMention{}, 0
	}
	if other, _, _ := d.count(i - 2); vague || (d.at(i-1) == "or" || d.at(i-1) == "to") && other > 0 ||
		d.at(i-1) == "half" {
		return DateMention{Unit: Vague}, n + 2
	}
	return mention(unit, d.stepUnit(unit, -count*times)), n + 2
}

// ahead reads "in two weeks", "in 3 months". A single unit may be a duration ("in a week"): it is vague without a word
// of the future.
func (d dater) ahead(i int) (DateMention, int) {
	if d.at(i) != "in" || !d.toCome(i) || !d.adjacent(i) {
		return DateMention{}, 0
	}
	n, count, vague := d.count(i + 1)
	unit, times, ok := d.unit(i + n + 1)
	if _, k := d.counted(i + 1); k > 0 || n == 0 || vague || !d.adjacent(i+n) || !ok {
		return DateMention{}, 0
	}
	if count == 1 && !d.tense(i).ahead && d.at(i+n+2) != "time" {
		if unit == Day {
			return DateMention{}, 0
		}
		return DateMention{Unit: Vague}, n + 2
	}
	if n += 2; d.at(i+n) == "time" && d.adjacent(i+n-1) {
		n++
	}
	return mention(unit, d.stepUnit(unit, count*times)), n
}

// count reads a number of units at word i. It returns the number of words, the count, and whether the count is only
// approximate.
func (d dater) count(i int) (n, count int, vague bool) {
	word := d.at(i)
	if word == "a" && (d.at(i+1) == "couple" || d.at(i+1) == "few") {
		vague = d.at(i+1) == "few"
		if d.at(i+2) == "of" {
			return 3, 2, vague
		}
		return 2, 2, vague
	}
	if vagueCounts[word] {
		return 1, 0, true
	}
	if c, ok := counts[word]; ok {
		return 1, c, false
	}
	if c, err := strconv.Atoi(word); err == nil && c > 0 && c <= 100 {
		return 1, c, false
	}
	return 0, 0, false
}

// stepUnit moves today by whole units.
func (d dater) stepUnit(unit Unit, step int) time.Time {
	switch unit {
	case Week:
		return d.today.AddDate(0, 0, 7*step)
	case Weekend:
		return d.stepWeekend(step)
	case Month:
		return monthOf(d.today).AddDate(0, step, 0)
	case Year:
		return yearOf(d.today).AddDate(step, 0, 0)
	}
	return d.today.AddDate(0, 0, step)
}

// stepWeekend returns the Saturday of a weekend: 0 is this week's, -1 the last that is over.
func (d dater) stepWeekend(step int) time.Time { return saturday(d.today).AddDate(0, 0, 7*step) }

// stepWeekday reads "last Friday" as the nearest Friday before today. "this Friday" is in today's week, and "next
// Friday" in the week after.
func (d dater) stepWeekday(step int, day time.Weekday) time.Time {
	if step < 0 {
		return d.today.AddDate(0, 0, -((int(d.today.Weekday())-int(day)+6)%7 + 1))
	}
	inWeek := monday(d.today).AddDate(0, 0, (int(day)+6)%7)
	return inWeek.AddDate(0, 0, 7*step)
}

// stepMonth reads "last March" as the nearest March before this month. "next March" is the nearest after, and "this
// March" is in this year.
func (d dater) stepMonth(step int, month time.Month) time.Time {
	year := d.today.Year()
	switch {
	case step < 0 && month >= d.today.Month():
		year--
	case step > 0 && month <= d.today.Month():
		year++
	}
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// stepSeason reads "last summer" as the nearest that is over, "next summer" as the nearest that has not begun.
func (d dater) stepSeason(step int, name string, month time.Month) DateMention {
	year := d.today.Year()
	begins := func(year int) time.Time { return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC) }
	switch {
	case step < 0:
		for begins(year).AddDate(0, 3, 0).After(d.today) {
			year--
		}
	case step > 0 && !begins(year).After(d.today):
		year++
	case step == 0 && month == time.December && d.today.Month() < time.March:
		year--
	}
	return season(name, year)
}

func season(name string, year int) DateMention {
	return DateMention{
		Time: time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC),
		Unit: Season, Note: name + " " + strconv.Itoa(year),
	}
}
