package text_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/text"
)

// firstDay is the first day of a mention, or "vague".
func firstDay(m text.DateMention) string {
	if m.Unit == text.Vague {
		return "vague"
	}
	return m.Time.Format(time.DateOnly)
}

// TestDatesCountFromAnotherDay has expressions with two times, or with a time of a story. The day of the turn is a
// Thursday.
func TestDatesCountFromAnotherDay(t *testing.T) {
	for _, c := range []struct{ text, expression, first string }{
		{"Dad's knee operation is a week from Monday", "a week from Monday", "2023-06-05"},
		{"Lena's visa runs out two weeks from tomorrow", "two weeks from tomorrow", "2023-06-09"},
		{"we have to hand it in a fortnight from today", "a fortnight from today", "2023-06-08"},
		{"I start at the bakery a month from today.", "a month from today", "2023-06-25"},
		{"It has been ten months, I gave up smoking a year ago yesterday", "a year ago yesterday", "2022-05-24"},
		{"My brother got out of hospital a week ago today", "a week ago today", "2023-05-18"},
		{"The twins were born a week ago Friday", "a week ago Friday", "2023-05-12"},
		{"She flew three days after 9 May 2023", "three days after 9 May 2023", "2023-05-12"},
		{"my nan fell two Tuesdays ago", "two Tuesdays ago", "2023-05-16"},
		{"we met three summers ago", "three summers ago", "2020-01-01"},
		{"The plumber comes a week on Tuesday", "a week on Tuesday", "2023-06-06"},
		{"my mock exam is Friday week", "Friday week", "2023-06-02"},
		{"the movers come a week tomorrow", "a week tomorrow", "2023-06-02"},
		{"I see the dentist in a fortnight's time", "in a fortnight's time", "2023-06-05"},
		{"We broke up the Saturday before last", "the Saturday before last", "2023-05-13"},
		{"the wedding is the Saturday after next", "the Saturday after next", "2023-06-03"},
		{"I could not sleep the night before last", "the night before last", "2023-05-23"},
		{"She quit the week before last", "the week before last", "2023-05-08"},
		{"We went there the summer before last", "the summer before last", "2021-01-01"},
		{"Grandpa died the day after Christmas", "the day after Christmas", "2022-12-26"},
		{"My flight is the day before Christmas Eve", "the day before Christmas Eve", "2023-12-23"},
		{"We got the keys the Friday before 15 March", "the Friday before 15 March", "2023-03-10"},
		{"She moved out on the day after the 9th of May", "the day after the 9th of May", "2023-05-10"},
		{"The rota changed in the last week of March", "the last week of March", "2023-03-01"},
		{"my viva is the second Tuesday in June", "the second Tuesday in June", "2023-06-13"},
		{"The last Friday of next month is my leaving do", "The last Friday of next month", "2023-06-30"},
		{"Last Christmas my sister got a puppy", "Last Christmas", "2022-12-01"},
		{"The week after the wedding we flew home", "The week after", "vague"},
		{"Two days later she rang", "Two days later", "vague"},
		{"We met and the next day we drove to Bari", "the next day", "vague"},
		{"That summer I learned to sail", "That summer", "vague"},
		{"In week 4 we built a parser", "week 4", "vague"},
		{"The last week of school was wild", "The last week of", "vague"},
		{"I saw her a week or two ago", "a week or two ago", "vague"},
		{"I tore it half a year ago", "a year ago", "vague"},
		{"Two weeks ago on Saturday I fell", "Two weeks ago on Saturday", "vague"},
		{"On Good Friday we fasted", "Good Friday", "vague"},
		{"At Christmas we flew to Oslo", "Christmas", "vague"},
		{"The first Monday of every month we meet", "The first Monday of", "vague"},
		{"I have to pay it by the 13th.", "the 13th", "vague"},
	} {
		got := text.Dates(c.text, thursday)
		if len(got) != 1 || c.text[got[0].Start:got[0].End] != c.expression || firstDay(got[0]) != c.first {
			t.Errorf("%q: got %+v, want %q at %s", c.text, got, c.expression, c.first)
		}
	}
}

func TestDatesKeepTheDayOfAShortMonth(t *testing.T) {
	at := time.Date(2024, 1, 31, 9, 0, 0, 0, time.UTC)
	for said, want := range map[string]string{
		"I move a month from today": "2024-02-29", "I moved two months ago today": "2023-11-30",
		"I moved a year ago today":     "2023-01-31",
		"the fifth Friday of February": "vague", "the last day of February": "2024-02-29",
	} {
		if got := text.Dates(said, at); len(got) != 1 || firstDay(got[0]) != want {
			t.Errorf("%q: got %+v, want %s", said, got, want)
		}
	}
}

// TestDatesLeaveCountsAlone has neighbours of the expressions above that name no time, or only their own day.
func TestDatesLeaveCountsAlone(t *testing.T) {
	for _, said := range []string{
		"I work night after night", "day after day it rained", "we train 3 times a week from home",
		"I like Christmas", "a good Friday feeling is rare",
		"we swim every week 3 times", "the first day", "a new year's resolution", "I read two books a week",
		"a black cat and a good book",
		"the same old story", "that is the week", "I got it for Christmas",
	} {
		for _, m := range text.Dates(said, thursday) {
			if m.Unit != text.Vague {
				t.Errorf("%q: got %+v, want no day", said, m)
			}
		}
	}
	for said, want := range map[string]string{
		"It's been a week today": "2023-05-25", "We worked a week from Monday to Friday last month": "2023-05-22",
	} {
		if got := text.Dates(said, thursday); len(got) == 0 || firstDay(got[0]) != want {
			t.Errorf("%q: got %+v, want %s first", said, got, want)
		}
	}
}

// TestDatesCountFromTheDayOfTheSpeaker has times that are on another day in UTC.
func TestDatesCountFromTheDayOfTheSpeaker(t *testing.T) {
	for _, c := range []struct{ at, text, first string }{
		{"2026-05-02T07:30:00+09:00", "I flew home yesterday", "2026-05-01"},
		{"2026-05-01T20:30:00-07:00", "my test is tomorrow", "2026-05-02"},
		{"2026-08-01T06:00:00+09:00", "We moved this month", "2026-08-01"},
		{"2026-07-09T18:00:00-08:00", "heute habe ich gekündigt", "2026-07-09"},
		{"2026-01-01T08:15:00+11:00", "ayer nos casamos", "2025-12-31"},
		{"2026-07-10T00:30:00+02:00", "on Friday I fly", "2026-07-17"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := text.Dates(c.text, at); len(got) != 1 || firstDay(got[0]) != c.first {
			t.Errorf("%q at %s: got %+v, want %s", c.text, c.at, got, c.first)
		}
	}
}
