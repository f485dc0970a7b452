package llm

import (
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// ShownTurn is a turn as prompts show it.
type ShownTurn struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	Picture string `json:"picture,omitempty"`
}

// ShowTurns names the turns t1, t2, ... in their order.
func ShowTurns(turns []memory.Turn) []ShownTurn { return ShowAs("t", turns) }

// ShowAs names the turns by another sort of alias.
func ShowAs(sort string, turns []memory.Turn) []ShownTurn {
	out := make([]ShownTurn, len(turns))
	for i, t := range turns {
		out[i] = ShownTurn{
			ID: Alias(sort, i), Time: ShowTime(t.Time), Speaker: t.Speaker, Role: string(t.Role), Text: t.Text, Picture: t.Caption,
		}
	}
	return out
}

// ShowTime adds the day of the week, which relative dates need and models get wrong.
func ShowTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("Monday 2006-01-02 15:04")
}

// TurnIndex maps aliases to positions.
func TurnIndex(n int) map[string]int {
	out := make(map[string]int, n)
	for i := range n {
		out[Alias("t", i)] = i
	}
	return out
}

// ShowEvent writes an event time as exactly as it is known, a range as "from to until".
func ShowEvent(e memory.EventTime) string {
	layout := map[memory.Precision]string{
		memory.PrecisionDay: time.DateOnly, memory.PrecisionMonth: "2006-01", memory.PrecisionYear: "2006",
	}[e.Precision]
	if layout == "" {
		return ""
	}
	if e.End.IsZero() {
		return e.Time.Format(layout)
	}
	return e.Time.Format(layout) + " to " + e.End.Format(layout)
}
