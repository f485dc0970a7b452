package embedded

import (
	"regexp"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/text"
)

var (
	// aroundUnit ends right before a date that only says where to count from: "the week before 9 June".
	aroundUnit = regexp.MustCompile(`(?i)\b(?:the )?(day|weekend|week|month|year|` +
		`monday|tuesday|wednesday|thursday|friday|saturday|sunday) (before|after) (?:the )?$`)
	// untilDate ends right before a date that something lasts to.
	untilDate = regexp.MustCompile(`(?i)\b(?:until|till|up to|by|to) (?:the |early |mid |late )?$`)
	// lasting is how long something went on, which says nothing of when.
	lasting = regexp.MustCompile(`(?i)\bfor (?:about |almost |nearly |over |more than |the (?:last|past) )?(?:an? (?:few|couple of)|\w+) ` +
		`(?:days|weeks|months|years|decades|hours|minutes)\b`)
)

var weekdaysByName = map[string]time.Weekday{
	"monday": time.Monday, "tuesday": time.Tuesday, "wednesday": time.Wednesday, "thursday": time.Thursday,
	"friday": time.Friday, "saturday": time.Saturday, "sunday": time.Sunday,
}

// dates returns the mentions of time in a text. A mention that another one counts from becomes one with it: "the Friday before 15 July".
func dates(said string, at time.Time) []text.DateMention {
	found := text.Dates(said, at)
	out := found[:0:0]
	for _, m := range found {
		span := aroundUnit.FindStringSubmatchIndex(said[:m.Start])
		if span == nil || m.Unit != text.Day {
			out = append(out, m)
			continue
		}
		if n := len(out); n > 0 && out[n-1].End > span[0] {
			out = out[:n-1] // a weekday that was read on its own
		}
		unit, after := strings.ToLower(said[span[2]:span[3]]), strings.EqualFold(said[span[4]:span[5]], "after")
		out = append(out, around(m, span[0], unit, after))
	}
	return out
}

// around moves a day by one unit.
func around(m text.DateMention, start int, unit string, after bool) text.DateMention {
	step := -1
	if after {
		step = 1
	}
	m.Start = start
	if day, ok := weekdaysByName[unit]; ok {
		m.Time = m.Time.AddDate(0, 0, step)
		for m.Time.Weekday() != day {
			m.Time = m.Time.AddDate(0, 0, step)
		}
		m.Note = m.Time.Format(time.DateOnly)
		return m
	}
	switch unit {
	case "day":
		m.Time = m.Time.AddDate(0, 0, step)
		m.Note = m.Time.Format(time.DateOnly)
	case "week", "weekend":
		m.Time = m.Time.AddDate(0, 0, 7*step)
		m.Time = m.Time.AddDate(0, 0, -(int(m.Time.Weekday())+6)%7)
		m.Unit, m.Note = text.Week, "week of "+m.Time.Format(time.DateOnly)
		if unit == "weekend" {
			m.Time = m.Time.AddDate(0, 0, 5)
			m.Unit, m.Note = text.Weekend, "weekend of "+m.Time.Format(time.DateOnly)
		}
	case "month":
		m.Time = time.Date(m.Time.Year(), m.Time.Month()+time.Month(step), 1, 0, 0, 0, 0, time.UTC)
		m.Unit, m.Note = text.Month, m.Time.Format("2006-01")
	case "year":
		m.Time = time.Date(m.Time.Year()+step, time.January, 1, 0, 0, 0, 0, time.UTC)
		m.Unit, m.Note = text.Year, m.Time.Format("2006")
	}
	return m
}

// endsAt reports whether a mention says until when something lasts, rather than when it was.
func endsAt(text string, m text.DateMention) bool { return untilDate.MatchString(text[:m.Start]) }
