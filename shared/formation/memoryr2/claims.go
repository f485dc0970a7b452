package memoryr2

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mneme-memory/mneme/shared/text"
)

// Dropped returns the claims of a statement that its replacement does not make. Claims are names, numbers and dates,
// each once, in a normal form (lower case, digits without separators, ISO dates). Dates come first, then the others in
// order. The result is empty where no claim is lost. Claims are compared as sets: other words and another order are
// allowed.
//
// A name is a capitalised word that is no function word; any form of the word in any case keeps it. A number is one in
// digits, or a number word from two to twelve: "3,000" is 3000, and "two" is 2. A date is one that can be placed
// without the time of the statement. Any date within it keeps it: a day of a year keeps the year, and not the other
// way round.
func Dropped(old, replacement string) []string {
	var lost []string
	miss := func(claim string) {
		if !slices.Contains(lost, claim) {
			lost = append(lost, claim)
		}
	}
	said, placed := statedBy(replacement), absolute(replacement)
	dates := absolute(old)
	for _, d := range dates {
		if !d.keptBy(placed) && !said.all(old[d.Start:d.End]) {
			miss(d.claim())
		}
	}
	for _, w := range text.Words(old) {
		inDate := slices.ContainsFunc(dates, func(d date) bool { return d.Start <= w.Start && w.End <= d.End })
		if claim := claimOf(w, old[w.Start:w.End]); claim != "" && !inDate && !said.word(w) {
			miss(claim)
		}
	}
	return lost
}

// claimOf is the claim that a word makes; "" for one that makes none.
func claimOf(w text.Word, written string) string {
	if n := number(w); n != "" {
		return n
	}
	shouted := len(written) > 1 && strings.ToUpper(written) == written // "US", "IT"
	if !w.Capital || text.IsStopWord(w.Lower) && !shouted {
		return ""
	}
	return strings.TrimSuffix(w.Lower, "'s")
}

// numberWords from two on: "one" is seldom a count.
var numberWords = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}

// number returns the normal form of a number, without an attached suffix ("3rd", "5pm"); "" for other words.
func number(w text.Word) string {
	if !w.Number {
		return numberWords[w.Lower]
	}
	end := strings.IndexFunc(w.Lower, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' && r != ',' && r != ':' })
	if end < 0 {
		end = len(w.Lower)
	}
	n := strings.ReplaceAll(w.Lower[:end], ",", "")
	if strings.Contains(n, ".") && strings.Count(n, ".") == 1 {
		n = strings.TrimRight(strings.TrimRight(n, "0"), ".")
	}
	if short := strings.TrimLeft(n, "0"); short != "" && unicode.IsDigit(rune(short[0])) {
		return short
	}
	return n
}

// stated has the claims of a text.
type stated map[string]bool

func statedBy(said string) stated {
	t := stated{}
	for _, w := range text.Words(said) {
		t[w.Lower], t[strings.TrimSuffix(w.Lower, "'s")], t[text.Stem(w.Lower)] = true, true, true
		for _, part := range strings.Split(w.Lower, "-") {
			t[part] = true
		}
		if n := number(w); n != "" {
			t[n] = true
		}
	}
	return t
}

// word reports whether the text has this word, or all parts of a hyphenated one.
func (t stated) word(w text.Word) bool {
	if n := number(w); n != "" {
		return t[n]
	}
	lower := strings.TrimSuffix(w.Lower, "'s")
	if t[lower] || t[text.Stem(w.Lower)] {
		return true
	}
	parts := strings.Split(lower, "-")
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !t[p] })
}

// all reports whether the text has every word of a date, as in a list of more dates than the search finds.
func (t stated) all(words string) bool {
	return !slices.ContainsFunc(text.Words(words), func(w text.Word) bool { return !t.word(w) })
}

// date is a mention with the same meaning at every time of the statement.
type date struct{ text.DateMention }

// absolute finds the dates that are the same seen from two days far apart.
func absolute(said string) []date {
	far := text.Dates(said, time.Date(1987, time.November, 28, 0, 0, 0, 0, time.UTC))
	var out []date
	for _, m := range text.Dates(said, time.Date(2031, time.March, 5, 0, 0, 0, 0, time.UTC)) {
		same := func(o text.DateMention) bool {
			return o.Start == m.Start && o.End == m.End && o.Unit == m.Unit && o.Time.Equal(m.Time)
		}
		if m.Unit != text.Vague && slices.ContainsFunc(far, same) {
			out = append(out, date{m})
		}
	}
	return out
}

// keptBy reports whether one of the dates lies within this one.
func (d date) keptBy(others []date) bool {
	return slices.ContainsFunc(others, func(o date) bool { return !o.Time.Before(d.Time) && !o.Last().After(d.Last()) })
}

func (d date) claim() string {
	switch d.Unit {
	case text.Month:
		return d.Time.Format("2006-01")
	case text.Year:
		return d.Time.Format("2006")
	case text.Day:
		return d.Time.Format(time.DateOnly)
	}
	return d.Time.Format(time.DateOnly) + "/" + d.Last().Format(time.DateOnly)
}
