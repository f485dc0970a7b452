package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"

	dateparser "github.com/markusmobius/go-dateparser"
	"github.com/markusmobius/go-dateparser/date"
)

// kind is the kind of an expression, independent of the day of the text.
type kind uint8

const (
	none   kind = iota
	unsure      // in time, but not when: "drei Tage"
	step
	whole
	dayAndMonth
	weekday
	month
)

// symbol is the meaning of an expression: a number of units from the day of the text (step), or a date or parts of
// it (time).
type symbol struct {
	kind kind
	unit Unit
	n    int
	time time.Time
}

// named reports whether a weekday or month is meant, by name.
func (s symbol) named() bool { return s.kind == weekday || s.kind == month }

// library reads dates. The expressions it has read lately are kept, one a slot: it takes up to a millisecond for one.
var (
	library = &dateparser.Parser{ParserTypes: []dateparser.ParserType{dateparser.RelativeTime, dateparser.AbsoluteTime}}
	read    [1 << 14]atomic.Pointer[classified]
	seed    = maphash.MakeSeed()
)

type classified struct {
	code, phrase string
	symbol       symbol
}

// The library reads each expression at two times. The parts that it takes from the time of the text differ. So do
// its assumptions when the expression has no direction ("three days").
var (
	earlier = time.Date(2021, time.June, 16, 12, 0, 0, 0, time.UTC)     // a Wednesday
	later   = time.Date(2023, time.November, 14, 12, 0, 0, 0, time.UTC) // a Tuesday
)

// mostAsked bounds the library's lookups for one text, without stop words. A word is one lookup. A phrase counts as
// perPhrase, because it may take milliseconds. Beyond the bound, only cached results count.
const mostAsked, perPhrase = 400, 10

// zones are words of other languages that the library takes for time zones, at length.
var zones = WordSet("ist est met art wit cat eat bit bot get wat mit")

// classify has the library read an expression.
func (d dater) classify(code, phrase string) symbol {
	slot := &read[(maphash.String(seed, phrase)+maphash.String(seed, code))%uint64(len(read))]
	if known := slot.Load(); known != nil && known.code == code && known.phrase == phrase {
		return known.symbol
	}
	if word := strings.TrimPrefix(phrase, "3 "); stopLanguages()[word] == 0 {
		if d.asked >= mostAsked {
			return symbol{}
		}
		d.asked++
		if strings.Contains(word, " ") {
			d.asked += perPhrase - 1
		}
	}
	known := &classified{code: code, phrase: strings.Clone(phrase)}
	if a, ok := ask(code, known.phrase, earlier, dateparser.Past); ok {
		known.symbol.kind = unsure
		if b, ok := ask(code, known.phrase, later, dateparser.Future); ok && a.Period == b.Period {
			known.symbol = symbolOf(a, b)
		}
	}
	slot.Store(known)
	return known.symbol
}

func ask(code, phrase string, at time.Time, missing dateparser.PreferredDateSource) (date.Date, bool) {
	found, err := library.Parse(&dateparser.Configuration{
		Languages: []string{code}, CurrentTime: at, DefaultTimezone: time.UTC, PreferredDateSource: missing,
		ReturnTimeAsPeriod: true,
	}, phrase)
	return found, err == nil && !found.IsZero() && !found.Period.IsTime()
}

// symbolOf returns the common part of two readings of an expression.
func symbolOf(a, b date.Date) symbol {
	const furthest = 1000
	t, u := a.Time, b.Time
	days := int(t.Sub(earlier) / (24 * time.Hour))
	months := func(t, from time.Time) int { return 12*(t.Year()-from.Year()) + int(t.Month()-from.Month()) }
	if t.Hour() == earlier.Hour() {
		switch {
		case u.Hour() != later.Hour() || days < -furthest || days > furthest:
		case a.Period == date.Day && u.Equal(later.AddDate(0, 0, days)):
			return symbol{kind: step, unit: Day, n: days}
		case a.Period == date.Month && months(t, earlier) == months(u, later):
			return symbol{kind: step, unit: Month, n: months(t, earlier)}
		case a.Period == date.Year && t.Year()-earlier.Year() == u.Year()-later.Year():
			return symbol{kind: step, unit: Year, n: t.Year() - earlier.Year()}
		}
		return symbol{kind: unsure}
	}
	t, u = dayOf(t), dayOf(u)
	switch {
	case t.Year() < 1900 || t.Year() > 2100:
	case a.Period == date.Day && t.Equal(u):
		return symbol{kind: whole, unit: Day, time: t}
	case a.Period == date.Month && months(t, u) == 0:
		return symbol{kind: whole, unit: Month, time: monthOf(t)}
	case a.Period == date.Month && t.Month() == u.Month():
		return symbol{kind: month, unit: Month, time: time.Date(0, t.Month(), 1, 0, 0, 0, 0, time.UTC)}
	case a.Period == date.Day && t.Month() == u.Month() && t.Day() == u.Day():
		return symbol{kind: dayAndMonth, unit: Day, time: time.Date(0, t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)}
	case a.Period == date.Day && t.Weekday() == u.Weekday() && days >= -7 && days <= 0:
		return symbol{kind: weekday, unit: Day, n: int(t.Weekday())}
	}
	return symbol{kind: unsure}
}
