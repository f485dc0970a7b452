package synthesis

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/memory"
)

const day = 24 * time.Hour

// moment is an expression of time with its meaning on the day of the telling.
type moment struct {
	// said is the speaker's expression: "last Friday".
	said string
	when memory.EventTime
	// written is the form in a statement, with a leading space: " on 3 May 2025". It is empty without a date.
	written string
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }

func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

func firstOfMonth(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func onDay(said string, t time.Time) moment {
	return moment{said, memory.EventTime{Time: t, Precision: memory.PrecisionDay, Expression: said},
		t.Format(" on 2 January 2006")}
}

// inWeek takes a week's Monday, as there is no precision between day and month.
func inWeek(said string, t time.Time) moment {
	m := onDay(said, monday(t))
	m.written = m.when.Time.Format(" in the week of 2 January 2006")
	return m
}

func inMonth(said string, t time.Time) moment {
	t = firstOfMonth(t)
	return moment{said, memory.EventTime{Time: t, Precision: memory.PrecisionMonth, Expression: said},
		t.Format(" in January 2006")}
}

func inYear(said string, year int) moment {
	t := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	return moment{said, memory.EventTime{Time: t, Precision: memory.PrecisionYear, Expression: said}, t.Format(" in 2006")}
}

// past draws an expression of a time before that day, or of that day.
func past(r *rand.Rand, at time.Time) moment {
	today := midnight(at)
	switch ago := 2 + r.IntN(5); r.IntN(16) {
	case 0, 1:
		return onDay("yesterday", today.AddDate(0, 0, -1))
	case 2:
		return onDay("last night", today.AddDate(0, 0, -1))
	case 3:
		return onDay(template.Pick(r, []string{"today", "this morning", "earlier today"}), today)
	case 4:
		return onDay(fmt.Sprintf("%s days ago", counts[min(ago, len(counts)-1)]),
			today.AddDate(0, 0, -min(ago, len(counts)-1)))
	case 5, 6, 7:
		d := today.AddDate(0, 0, -ago)
		return onDay("last "+d.Weekday().String(), d)
	case 8, 9:
		return inWeek("last week", today.AddDate(0, 0, -7))
	case 10:
		n := 2 + r.IntN(2)
		return inWeek(fmt.Sprintf("%s weeks ago", counts[n]), today.AddDate(0, 0, -7*n))
	case 11, 12:
		saturday := monday(today).AddDate(0, 0, -2)
		return onDay("last weekend", saturday)
	case 13:
		return inMonth("last month", firstOfMonth(today).AddDate(0, -1, 0))
	case 14:
		d := today.AddDate(0, 0, -8-r.IntN(40))
		return onDay(d.Format(template.Pick(r, []string{"on 2 January", "on January 2", "on the 2 of January"})), d)
	default:
		d := firstOfMonth(today).AddDate(0, -2-r.IntN(6), 0)
		return inMonth("in "+d.Month().String(), d)
	}
}

// future draws an expression of a time after that day.
func future(r *rand.Rand, at time.Time) moment {
	today := midnight(at)
	switch r.IntN(10) {
	case 0:
		return onDay("tomorrow", today.AddDate(0, 0, 1))
	case 1, 2:
		d := monday(today).AddDate(0, 0, 7+r.IntN(7))
		return onDay("next "+d.Weekday().String(), d)
	case 3, 4:
		return inWeek("next week", today.AddDate(0, 0, 7))
	case 5, 6:
		return inMonth("next month", firstOfMonth(today).AddDate(0, 1, 0))
	case 7:
		n := 2 + r.IntN(2)
		return inWeek(fmt.Sprintf("in %s weeks", counts[n]), today.AddDate(0, 0, 7*n))
	case 8:
		d := firstOfMonth(today).AddDate(0, 2+r.IntN(5), 0)
		return inMonth("in "+d.Month().String(), d)
	default:
		d := today.AddDate(0, 0, 10+r.IntN(50))
		return onDay(d.Format(template.Pick(r, []string{"on 2 January", "on January 2"})), d)
	}
}

// since draws a beginning months or years ago.
func since(r *rand.Rand, at time.Time) moment {
	if template.Chance(r, 0.5) {
		year := at.Year() - 1 - r.IntN(8)
		m := inYear(fmt.Sprintf("since %d", year), year)
		m.written = " since" + m.written[len(" in"):]
		return m
	}
	d := firstOfMonth(at).AddDate(0, -1-r.IntN(9), 0)
	m := inMonth("since "+d.Month().String(), d)
	m.written = " since" + m.written[len(" in"):]
	return m
}

var counts = []string{"zero", "one", "two", "three", "four", "five", "six"}
