package mem0

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxUnix bounds times in seconds since 1970: the end of the year 9999.
const maxUnix = 253402300799

// layouts are the accepted layouts of times in text, in addition to RFC 3339. A time without a zone is in UTC.
var layouts = []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999"}

// span reads a time, or a day from its beginning to its end. The value is a day, a time after ISO 8601, or seconds
// since 1970.
func span(at string, value any) (from, to time.Time, err error) {
	wrong := problem.Invalid(at, "is not a time, want a day such as 2026-03-01, a time such as 2026-03-01T12:00:00Z, or "+
		"seconds since 1970")
	switch v := value.(type) {
	case json.Number:
		if from, err = unix(string(v)); err != nil {
			return from, to, wrong
		}
		return from, from, nil
	case string:
		if day, err := time.Parse(time.DateOnly, v); err == nil {
			return day, day.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
		}
		for _, layout := range append([]string{time.RFC3339Nano}, layouts...) {
			if t, err := time.Parse(layout, v); err == nil {
				return t, t, nil
			}
		}
		if from, err = unix(v); err == nil {
			return from, from, nil
		}
	}
	return from, to, wrong
}

// unix reads seconds since 1970.
func unix(s string) (time.Time, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}, err
	}
	if !(v >= 0 && v <= maxUnix) {
		return time.Time{}, strconv.ErrRange
	}
	whole, part := math.Modf(v)
	return time.Unix(int64(whole), int64(part*1e6)*1e3).UTC(), nil
}

// parseTimestamp reads the time of the turn, with its offset. The default is now.
func (a *api) parseTimestamp(in fields) (time.Time, error) {
	now := a.Now().UTC()
	if !in.has("timestamp") {
		return now, nil
	}
	at, _, err := span("timestamp", in["timestamp"])
	if err != nil {
		return at, err
	}
	return at, memory.ValidTime("timestamp", at, now)
}

// stamp writes a time as mem0 does.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
