package text

import (
	"maps"
	"slices"
	"strings"
	"time"
)

var weekdays = map[string]time.Weekday{
	"monday": time.Monday, "tuesday": time.Tuesday, "wednesday": time.Wednesday, "thursday": time.Thursday,
	"friday": time.Friday, "saturday": time.Saturday, "sunday": time.Sunday,
}

// shortWeekdays are written for a weekday; most are other words, too.
var shortWeekdays = map[string]time.Weekday{
	"mon": time.Monday, "tue": time.Tuesday, "tues": time.Tuesday, "wed": time.Wednesday, "weds": time.Wednesday,
	"thu":  time.Thursday,
	"thur": time.Thursday, "thurs": time.Thursday, "fri": time.Friday, "sat": time.Saturday, "sun": time.Sunday,
}

var months = map[string]time.Month{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8,
	"september": 9, "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4,
	"jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}

// seasons of the northern hemisphere, by their first month.
var seasons = map[string]time.Month{"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}

var units = map[string]Unit{
	"day": Day, "days": Day, "night": Day, "nights": Day, "weekend": Weekend, "weekends": Weekend,
	"week": Week, "weeks": Week, "month": Month, "months": Month, "year": Year, "years": Year,
}

var counts = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}

// vagueCounts say that it was some time ago, not when.
var vagueCounts = WordSet("few several some many couple")

// directions of "last week", "next month"; "this" is the unit that holds today.
var directions = map[string]int{"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1,
	"upcoming": 1, "following": 1}

// partsOfDay after a day belong to the expression ("yesterday evening").
var partsOfDay = WordSet("morning afternoon evening night")

// beforeMonth before a bare month make it a date; without them "may" and "march" are verbs.
var beforeMonth = WordSet("in since until till by during of early late mid from last next this around before after " +
	"through for")

// otherWord are months that have another meaning in lower case. beforeOther are words before them as months.
// helping are words after them as verbs. counted are nouns that the number after a name counts.
var (
	otherWord   = WordSet("may march mar dec")
	beforeOther = WordSet("in since until till by during early late mid")
	helping     = WordSet("be have not on")
	counted     = WordSet("years year days weeks months hours minutes miles times people kids")
)

// beforeDay are words before a day and month, and beforeWeekday words before a short weekday. They confirm the date.
var (
	beforeDay     = WordSet("on by until till since from before after born due")
	beforeWeekday = WordSet("on this next last by until till before since coming past")
)

// beforeYear before a number of four digits make it a year.
var beforeYear = WordSet("in since until till by during of from around before after back year spring summer fall " +
	"autumn winter")

// putOff stand before the day that something was moved to or is meant for.
var putOff = WordSet("to for")

// aheadWords suggest that a bare weekday or month lies ahead.
var aheadWords = wordLists.Set("aheadWords")

// joining words may begin a clause. noPresent, after the clause's pronoun, are not verbs, or are verbs with the
// same form in the past.
var (
	joining   = WordSet("and but so")
	noPresent = WordSet("on at in all both each then only never put let set cut hit cost read quit hurt shut beat cast")
)

// habitWords before a weekday make it a habit, not a day.
var habitWords = WordSet("every each most usually always all any other a an my our your his her their")

// ordinals may stand between a habit's word and its weekday, rangeWords between two weekdays.
var (
	ordinals   = WordSet("other single second third first last")
	rangeWords = WordSet("to through thru till until and or")
)

// habitParts behind a weekday make it a habit, too.
var habitParts = WordSet("mornings afternoons evenings nights school")

// fixedPhrase is a phrase that names a day by its distance from today.
type fixedPhrase struct {
	words []string
	days  int
}

// fixedPhrases, longest first.
var fixedPhrases = []fixedPhrase{
	{[]string{"the", "day", "before", "yesterday"}, -2},
	{[]string{"the", "day", "after", "tomorrow"}, 2},
	{[]string{"day", "before", "yesterday"}, -2},
	{[]string{"day", "after", "tomorrow"}, 2},
	{[]string{"yesterday"}, -1},
	{[]string{"tomorrow"}, 1},
	{[]string{"today"}, 0},
	{[]string{"tonight"}, 0},
	{[]string{"last", "night"}, -1},
	{[]string{"this", "morning"}, 0},
	{[]string{"this", "afternoon"}, 0},
	{[]string{"this", "evening"}, 0},
}

// vaguePhrases name no time that can be placed.
var vaguePhrases = [][]string{
	{"the", "other", "day"}, {"the", "other", "week"}, {"ages", "ago"}, {"long", "ago"}, {"years", "ago"},
	{"months", "ago"}, {"weeks", "ago"}, {"days", "ago"}, {"decade", "ago"}, {"decades", "ago"},
	{"a", "while", "ago"}, {"a", "while", "back"}, {"long", "time", "ago"}, {"some", "time", "ago"},
	{"a", "half", "ago"}, {"years", "later"}, {"months", "later"}, {"weeks", "later"}, {"days", "later"},
	{"as", "a", "kid"}, {"as", "a", "child"}, {"was", "a", "kid"}, {"was", "a", "child"}, {"was", "younger"},
	{"was", "little"},
}

// dateStarts are the first words of all readings, in addition to numbers.
var dateStarts = Union(wordLists.Set("dateStarts"), keys(weekdays), keys(shortWeekdays), keys(months),
	keys(seasons), keys(counts), vagueCounts, keys(besideUnits), keys(places), feastStarts)

func keys[V any](m map[string]V) map[string]bool {
	out := make(map[string]bool, len(m))
	for k := range m {
		out[k] = true
	}
	return out
}

// timeWords name a time in the past or future, in addition to weekdays and unambiguous months.
var timeWords = Union(wordLists.Set("timeWords"), keys(weekdays), fullMonths("may"))

// fullMonths are the names of the months that are not cut short, but for one.
func fullMonths(except string) map[string]bool {
	out := map[string]bool{}
	for name, m := range months {
		if name != except && name == strings.ToLower(m.String()) {
			out[name] = true
		}
	}
	return out
}

// CalendarWords returns the names of the weekdays, the months and the parts of the day, and the units of time. They
// are in lower case and in order.
func CalendarWords() []string {
	return slices.Sorted(maps.Keys(Union(keys(weekdays), fullMonths(""), keys(units), partsOfDay)))
}

// IsTimeWord reports whether a word names a past or future time, exactly or roughly. The number of a year does, too.
func IsTimeWord(w Word) bool { return timeWords[w.Lower] || year4.MatchString(w.Lower) }

func mayBeDate(w Word) bool { return w.Number || dateStarts[w.Lower] }

func looksAhead(text string, words []Word, from, to int) bool {
	for i := from; i < to; i++ {
		if aheadWords[words[i].Lower] && !IsNamesake(text, words, i) {
			return true
		}
	}
	return false
}
