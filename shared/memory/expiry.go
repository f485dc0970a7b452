package memory

import (
	"regexp"
	"time"
)

var (
	// untilNoted matches a resolved day, month or year up to which a statement holds: "until March (2026-03)".
	untilNoted = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:until|till|through|bis|hasta|jusqu'(?:à|au|en)|fino (?:a|al|alla)|até|tot|до)` +
		` (?:[^\s()]+ ){1,4}\((?:week of |weekend of )?(\d{4}(?:-\d{2}){0,2})\)`)
	// duringNoted matches a resolved span in which a statement holds: "this month (2026-01)".
	duringNoted = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:this (?:week|month|year|weekend)|today|tonight` +
		`|diese[nrs]? \pL+|heute|este \pL+|esta \pL+|hoy` +
		`|ce \pL+|cette \pL+) \((?:week of |weekend of |[a-z]+ )?(\d{4}(?:-\d{2}){0,2})\)`)
	// weekNoted matches the note of a week.
	weekNoted = regexp.MustCompile(`\((?:week|weekend) of `)
)

// Over reports whether a line only held until a resolved time, and a later time has come: the day, month or year after
// "until", or the end of "this month".
func (l CoreLine) Over(at time.Time) bool {
	if m := untilNoted.FindStringSubmatch(l.Text); m != nil {
		from, _ := noted(m[0], m[1])
		return !at.Before(from)
	}
	if m := duringNoted.FindStringSubmatch(l.Text); m != nil {
		_, end := noted(m[0], m[1])
		return !at.Before(end)
	}
	return false
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
