package memory_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

func TestALineIsOverOnItsDay(t *testing.T) {
	at := func(day string) time.Time {
		out, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		line, day string
		over      bool
	}{
		{"I can't swim until May (2026-05) because of my ear.", "2026-04-30", false},
		{"I can't swim until May (2026-05) because of my ear.", "2026-05-01", true},
		{"I'm on a diet until Friday (2026-02-06).", "2026-02-05", false},
		{"I'm on a diet until Friday (2026-02-06).", "2026-02-06", true},
		{"No meat for me this month (2026-01).", "2026-01-31", false},
		{"No meat for me this month (2026-01).", "2026-02-01", true},
		{"I'm fasting this week (week of 2026-01-26).", "2026-02-01", false},
		{"I'm fasting this week (week of 2026-01-26).", "2026-02-02", true},
		{"Ich darf bis März (2026-03) nicht fahren.", "2026-03-02", true},
		{"No puedo correr hasta mayo (2026-05).", "2026-06-01", true},
		{"I'm allergic to nuts since May (2020-05).", "2026-05-01", false},
		{"I was told in March (2026-03) that I must not fly.", "2026-05-01", false},
		{"I can't eat nuts.", "2026-05-01", false},
	} {
		if got := (memory.CoreLine{Text: c.line}).Over(at(c.day)); got != c.over {
			t.Errorf("%q on %s: %t, want %t", c.line, c.day, got, c.over)
		}
	}
}

func TestTheEndOfAMemoryPasses(t *testing.T) {
	at := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
	for content, want := range map[string][2]bool{
		"I wear a brace until April (2026-04).":       {true, false},
		"I wear a brace until July (2026-07).":        {false, false},
		"I'm in Oslo this week (week of 2026-03-02).": {false, true},
		"I'm in Oslo this year (2026).":               {false, false},
		"My birthday is today (2026-03-04).":          {false, false},
		"Empiezo este lunes (2026-03-02).":            {false, false},
		"I wear a brace.":                             {false, false},
	} {
		m := memory.Memory{Content: content}
		if got := [2]bool{m.LimitPassed(at), m.SpanPassed(at)}; got != want {
			t.Errorf("%q: limit and span passed: %t, want %t", content, got, want)
		}
	}
}
