package llm

import (
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// shownTurn is a turn as prompts show it.
type shownTurn struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	Picture string `json:"picture,omitempty"`
}

func showTurns(turns []memory.Turn) []shownTurn {
	out := make([]shownTurn, len(turns))
	for i, t := range turns {
		out[i] = shownTurn{
			ID: alias("t", i), Time: showTime(t.Time), Speaker: t.Speaker, Role: string(t.Role), Text: t.Text, Picture: t.Caption,
		}
	}
	return out
}

// showTime adds the day of the week, which relative dates need and models get wrong.
func showTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("Monday 2006-01-02 15:04")
}

// turnIndex maps aliases to positions.
func turnIndex(n int) map[string]int {
	out := make(map[string]int, n)
	for i := range n {
		out[alias("t", i)] = i
	}
	return out
}
