package llm

import (
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// ParseEventTime reads a date with its precision. It cuts a date that is more exact than its precision; a less exact
// date is a fault. Any day of a week names the week, which begins on Monday.
func ParseEventTime(date, precision string) (memory.EventTime, error) {
	date = strings.TrimSpace(date)
	if date == "" {
		if precision != "" && precision != "none" {
			return memory.EventTime{}, structured.Faultf("event_precision is %s without an event_date", precision)
		}
		return memory.EventTime{}, nil
	}
	layout := map[string]string{"day": time.DateOnly, "week": time.DateOnly, "month": "2006-01", "year": "2006"}[precision]
	if layout == "" {
		return memory.EventTime{}, structured.Faultf("event_date has no event_precision; want day, week, month or year")
	}
	if len(date) > len(time.DateOnly) || len(date) < len(layout) {
		return memory.EventTime{}, structured.Faultf("event_date does not fit event_precision %s; want %s", precision,
			layoutHint(precision))
	}
	t, err := time.Parse(layout, date[:len(layout)])
	if err != nil || t.Year() < 1 {
		return memory.EventTime{}, structured.Faultf("event_date is no date; want %s", layoutHint(precision))
	}
	if precision == "week" {
		monday := t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
		return memory.EventTime{Time: monday, End: monday.AddDate(0, 0, 6), Precision: memory.PrecisionDay}, nil
	}
	return memory.EventTime{Time: t, Precision: memory.Precision(precision)}, nil
}

func layoutHint(precision string) string {
	return map[string]string{"day": "YYYY-MM-DD", "week": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}[precision]
}
