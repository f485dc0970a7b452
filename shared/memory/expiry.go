package memory

import (
	"regexp"
	"strings"
	"time"
)

var (
	// untilNoted matches a resolved day, month or year up to which a statement holds: "until March (2026-03)".
	untilNoted = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:until|till|through|bis|hasta|jusqu'(?:à|au|en)|fino (?:a|al|alla)|até|tot|до)` +
		` (?:[^\s()]+ ){1,4}\((?:week of |weekend of )?(\d{4}(?:-\d{2}){0,2})\)`)
	// spanNoted matches a resolved span in which a statement holds: "this month (2026-01)". dayNoted matches a day, and
	// a span that may be a day.
	spanNoted = regexp.MustCompile(`(?i)(?:^|[^\pL])this (?:week|month|year|weekend)` + noteOfSpan)
	dayNoted  = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:today|tonight|heute|hoy|diese[nrs]? \pL+|este \pL+|esta \pL+` +
		`|ce \pL+|cette \pL+)` + noteOfSpan)
	// weekNoted matches the note of a week.
	weekNoted = regexp.MustCompile(`\((?:week|weekend) of `)
)

// noteOfSpan is the note of a resolved time.
const noteOfSpan = ` \((?:week of |weekend of |[a-z]+ )?(\d{4}(?:-\d{2}){0,2})\)`

// Over reports whether a line only held until a resolved time, and a later time has come: the day, month or year after
// "until", or the end of "this month" or "today".
func (l CoreLine) Over(at time.Time) bool {
	if untilNoted.MatchString(l.Text) {
		return limitPassed(l.Text, at)
	}
	return spanPassed(l.Text, at) || passed(dayNoted.FindStringSubmatch(l.Text), at)
}

// LimitPassed reports whether a memory names a resolved time after "until", and that time has come.
func (m Memory) LimitPassed(at time.Time) bool {
	return strings.Contains(m.Content, "(") && limitPassed(m.Content, at)
}

// SpanPassed reports whether a memory names a week, a month or a year as "this" one, and it has ended. The word "today"
// is no span: it dates an event.
func (m Memory) SpanPassed(at time.Time) bool {
	return strings.Contains(m.Content, "(") && spanPassed(m.Content, at)
}

func limitPassed(statement string, at time.Time) bool {
	m := untilNoted.FindStringSubmatch(statement)
	if m == nil {
		return false
	}
	from, _ := noted(m[0], m[1])
	return !at.Before(from)
}

func spanPassed(statement string, at time.Time) bool {
	return passed(spanNoted.FindStringSubmatch(statement), at)
}

// passed reports whether the time of a match has ended.
func passed(match []string, at time.Time) bool {
	if match == nil {
		return false
	}
	_, end := noted(match[0], match[1])
	return !at.Before(end)
}

// noted returns the start and the end of a resolved time, in UTC.
func noted(words, day string) (start, end time.Time) {
	const week = 7
	layout := time.DateOnly[:len(day)]
	start, err := time.Parse(layout, day)
	if err != nil {
		const never = 9999
		start = time.Date(never, time.January, 1, 0, 0, 0, 0, time.UTC)
		return start, start
	}
	switch {
	case len(day) == len("2006"):
		return start, start.AddDate(1, 0, 0)
	case len(day) == len("2006-01"):
		return start, start.AddDate(0, 1, 0)
	case weekNoted.MatchString(words):
		return start, start.AddDate(0, 0, week)
	}
	return start, start.AddDate(0, 0, 1)
}
