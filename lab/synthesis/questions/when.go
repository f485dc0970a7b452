package questions

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// moment is an expression of time and its meaning.
type moment struct {
	said string
	// at is midnight of the day, or of the first day where only the month is meant.
	at    time.Time
	month bool
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func firstOfMonth(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

var counts = []string{"zero", "one", "two", "three", "four", "five", "six"}

// past draws a time before a day, or of that day.
func past(r *rand.Rand, now time.Time) moment {
	today := midnight(now)
	days := func(said string, n int) moment { return moment{said: said, at: today.AddDate(0, 0, -n)} }
	switch n := 2 + r.IntN(5); r.IntN(18) {
	case 0, 1, 2:
		return days("yesterday", 1)
	case 3:
		return days("last night", 1)
	case 4:
		return days(template.Pick(r, []string{"today", "this morning", "earlier today"}), 0)
	case 5:
		return days(counts[n]+" days ago", n)
	case 6, 7, 8:
		return days("last "+today.AddDate(0, 0, -n).Weekday().String(), n)
	case 9, 10, 11:
		return days("last week", 7)
	case 12:
		return days(template.Pick(r, []string{"two weeks ago", "a couple of weeks ago"}), 14)
	case 13, 14:
		return days("last weekend", (int(today.Weekday())+6)%7+2)
	case 15:
		return moment{said: "last month", at: firstOfMonth(today).AddDate(0, -1, 0), month: true}
	case 16:
		d := today.AddDate(0, 0, -8-r.IntN(30))
		return moment{said: d.Format(template.Pick(r, []string{"on 2 January", "on January 2"})), at: d}
	default:
		d := firstOfMonth(today).AddDate(0, -1-r.IntN(5), 0)
		return moment{said: "in " + d.Month().String(), at: d, month: true}
	}
}

// future draws a time after a day.
func future(r *rand.Rand, now time.Time) moment {
	today := midnight(now)
	switch r.IntN(5) {
	case 0:
		return moment{said: "tomorrow", at: today.AddDate(0, 0, 1)}
	case 1:
		return moment{said: "next week", at: today.AddDate(0, 0, 7)}
	case 2:
		return moment{said: "next month", at: firstOfMonth(today).AddDate(0, 1, 0), month: true}
	case 3:
		d := today.AddDate(0, 0, 7+r.IntN(7))
		return moment{said: "next " + d.Weekday().String(), at: d}
	default:
		d := firstOfMonth(today).AddDate(0, 1+r.IntN(4), 0)
		return moment{said: "in " + d.Month().String(), at: d, month: true}
	}
}

// written returns a moment in the form of a question.
func (m moment) written(r *rand.Rand, told time.Time) string {
	if m.at.IsZero() {
		m = moment{at: firstOfMonth(told), month: true}
	}
	if m.month || template.Chance(r, 0.6) {
		return m.at.Format(template.Pick(r, []string{"in January 2006", "in January, 2006", "in January"}))
	}
	if template.Chance(r, 0.2) {
		return "around " + m.at.Format("2 January 2006")
	}
	return m.at.Format(template.Pick(r, []string{"on 2 January 2006", "on 2 January, 2006", "on January 2, 2006",
		"on January 2"}))
}

// gap returns the time until the next session.
func gap(r *rand.Rand) time.Duration {
	return time.Duration(2+r.IntN(16))*24*time.Hour + time.Duration(r.IntN(12*60))*time.Minute
}

func turnID(session, turn int) string { return fmt.Sprintf("S%d:%d", session, turn) }
