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
	// spanNoted matches a resolved span in which a statement holds: "this month (2026-01)". dayNoted matches a day.
	spanNoted = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:this (?:week|month|year|weekend)|diese[nrs]? \pL+|este \pL+|esta \pL+` +
		`|ce \pL+|cette \pL+)` + noteOfSpan)
	dayNoted = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:today|tonight|heute|hoy)` + noteOfSpan)
	// weekNoted matches the note of a week.
	weekNoted = regexp.MustCompile(`\((?:week|weekend) of `)
)

// noteOfSpan is the note of a resolved time.
const noteOfSpan = ` \((?:week of |weekend of |[a-z]+ )?(\d{4}(?:-\d{2}){0,2})\)`

// Over reports whether a line only held until a resolved time, and a later time has come: the day, month or year after
// "until", or the end of "this month" or "today".
func (l CoreLine) Over(at time.Time) bool {
	return isOver(l.Text, at) || passed(dayNoted.FindStringSubmatch(l.Text), at)
}

// Over reports whether a memory in the present tense only held until a resolved time, and a later time has come: the
// day, month or year after "until", or the end of "this month". The word "today" alone ends nothing.
func (m Memory) Over(at time.Time) bool {
	return strings.Contains(m.Content, "(") && isOver(m.Content, at)
}

func isOver(statement string, at time.Time) bool {
	if m := untilNoted.FindStringSubmatch(statement); m != nil {
		from, _ := noted(m[0], m[1])
		return !at.Before(from)
	}
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
