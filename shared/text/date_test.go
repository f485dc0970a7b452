package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

// thursday is the day all tests speak on: Thursday, 25 May 2023.
var thursday = time.Date(2023, 5, 25, 13, 14, 0, 0, time.UTC)

func TestDatesResolveExpressions(t *testing.T) {
	for _, c := range []struct{ text, expression, note, first string }{
		{"I want to use the idioms that I added on May 3", "May 3", "2023-05-03", "2023-05-03"},
		{"I'm a bit excited about our party on May 28", "May 28", "2023-05-28", "2023-05-28"},
		{"She said she'll call on Friday", "Friday", "2023-05-26", "2023-05-26"},
		{"You reminded me I'll fly on Friday", "Friday", "2023-05-26", "2023-05-26"},
		{"She's just moved here in March", "March", "2023-03", "2023-03-01"},
		{"I got back today", "today", "2023-05-25", "2023-05-25"},
		{"We met yesterday.", "yesterday", "2023-05-24", "2023-05-24"},
		{"Yesterday evening it rained", "Yesterday evening", "2023-05-24", "2023-05-24"},
		{"I leave tomorrow", "tomorrow", "2023-05-26", "2023-05-26"},
		{"the day before yesterday", "the day before yesterday", "2023-05-23", "2023-05-23"},
		{"She lands the day after tomorrow", "the day after tomorrow", "2023-05-27", "2023-05-27"},
		{"I slept badly last night", "last night", "2023-05-24", "2023-05-24"},
		{"this morning was cold", "this morning", "2023-05-25", "2023-05-25"},
		{"I saw him last week", "last week", "week of 2023-05-15", "2023-05-15"},
		{"busy this week", "this week", "week of 2023-05-22", "2023-05-22"},
		{"next week I start", "next week", "week of 2023-05-29", "2023-05-29"},
		{"last weekend we hiked", "last weekend", "weekend of 2023-05-20", "2023-05-20"},
		{"this weekend we rest", "this weekend", "weekend of 2023-05-27", "2023-05-27"},
		{"this past weekend was wild", "this past weekend", "weekend of 2023-05-20", "2023-05-20"},
		{"two weekends ago", "two weekends ago", "weekend of 2023-05-13", "2023-05-13"},
		{"I moved last month", "last month", "2023-04", "2023-04-01"},
		{"it opens next month", "next month", "2023-06", "2023-06-01"},
		{"I graduated last year", "last year", "2022", "2022-01-01"},
		{"next year I retire", "next year", "2024", "2024-01-01"},
		{"last Friday we ate out", "last Friday", "2023-05-19", "2023-05-19"},
		{"last Thursday", "last Thursday", "2023-05-18", "2023-05-18"},
		{"this Friday", "this Friday", "2023-05-26", "2023-05-26"},
		{"next Friday I fly", "next Friday", "2023-06-02", "2023-06-02"},
		{"last summer in Crete", "last summer", "summer 2022", "2022-01-01"},
		{"next winter", "next winter", "winter 2023", "2023-01-01"},
		{"last March", "last March", "2023-03", "2023-03-01"},
		{"last August", "last August", "2022-08", "2022-08-01"},
		{"three days ago", "three days ago", "2023-05-22", "2023-05-22"},
		{"2 weeks ago", "2 weeks ago", "week of 2023-05-08", "2023-05-08"},
		{"a month ago", "a month ago", "2023-04", "2023-04-01"},
		{"I quit ten years ago", "ten years ago", "2013", "2013-01-01"},
		{"a couple of days ago", "a couple of days ago", "2023-05-23", "2023-05-23"},
		{"I will call in two weeks", "in two weeks", "week of 2023-06-05", "2023-06-05"},
		{"on Monday I swam", "Monday", "2023-05-22", "2023-05-22"},
		{"the meeting is on Tuesday", "Tuesday", "2023-05-30", "2023-05-30"},
		{"we met on Tuesday", "Tuesday", "2023-05-23", "2023-05-23"},
		{"the meeting was moved to Tuesday", "Tuesday", "2023-05-30", "2023-05-30"},
		{"I booked the dentist for Tuesday", "Tuesday", "2023-05-30", "2023-05-30"},
		{"dentist Friday 9am", "Friday", "2023-05-26", "2023-05-26"},
		{"I fly in two weeks", "in two weeks", "week of 2023-06-05", "2023-06-05"},
		{"I will swim on Monday", "Monday", "2023-05-29", "2023-05-29"},
		{"on May 7th I ran", "May 7th", "2023-05-07", "2023-05-07"},
		{"born 7 May 1990", "7 May 1990", "", "1990-05-07"},
		{"on the 3rd of March", "3rd of March", "2023-03-03", "2023-03-03"},
		{"due 2023-06-30", "2023-06-30", "", "2023-06-30"},
		{"in October 2022", "October 2022", "", "2022-10-01"},
		{"I moved in March", "March", "2023-03", "2023-03-01"},
		{"it was in November", "November", "2022-11", "2022-11-01"},
		{"we will marry in February", "February", "2024-02", "2024-02-01"},
		{"I came here in 2016", "2016", "", "2016-01-01"},
		{"the summer of 2019", "summer of 2019", "", "2019-01-01"},
		{"a few years ago", "a few years ago", "", ""},
		{"dentist tuesday", "tuesday", "2023-05-30", "2023-05-30"},
		{"moved in march", "march", "2023-03", "2023-03-01"},
		{"we flew home in august", "august", "2022-08", "2022-08-01"},
		{"gone since november", "november", "2022-11", "2022-11-01"},
		{"see you on fri", "fri", "2023-05-26", "2023-05-26"},
		{"see you on sat", "sat", "2023-05-27", "2023-05-27"},
		{"yoga fri 9am", "fri", "2023-05-26", "2023-05-26"},
		{"call mom tues 9am", "tues", "2023-05-30", "2023-05-30"},
		{"need it by thurs", "thurs", "2023-06-01", "2023-06-01"},
		{"i ate there last wed", "last wed", "2023-05-24", "2023-05-24"},
		{"we met on tuesday", "tuesday", "2023-05-23", "2023-05-23"},
		{"I met Anna. The meeting is on tuesday", "tuesday", "2023-05-30", "2023-05-30"},
		{"The meeting is on tuesday. I met Anna", "tuesday", "2023-05-30", "2023-05-30"},
		{"sleeping in his spare room til friday", "friday", "2023-05-26", "2023-05-26"},
		{"i'm presenting 4 july", "4 july", "2023-07-04", "2023-07-04"},
		{"flying in on oct 9", "oct 9", "2023-10-09", "2023-10-09"},
		{"we were there on 4 july", "4 july", "2022-07-04", "2022-07-04"},
		{"party on 3 may", "3 may", "2023-05-03", "2023-05-03"},
		{"the 3rd of may", "3rd of may", "2023-05-03", "2023-05-03"},
		{"may 3rd was nice", "may 3rd", "2023-05-03", "2023-05-03"},
		{"i ran on march 3", "march 3", "2023-03-03", "2023-03-03"},
		{"moved 5 june 2020", "5 june 2020", "", "2020-06-05"},
		{"it was in may 2020", "may 2020", "", "2020-05-01"},
		{"last march we moved", "last march", "2023-03", "2023-03-01"},
		{"the other day", "the other day", "", ""},
		{"in may i moved", "may", "2023-05", "2023-05-01"},
		{"on 3 may i flew", "3 may", "2023-05-03", "2023-05-03"},
		{"back 14 dec", "14 dec", "2022-12-14", "2022-12-14"},
		{"the exam is may 9", "may 9", "2023-05-09", "2023-05-09"},
		{"we met, they're coming on Saturday", "Saturday", "2023-05-27", "2023-05-27"},
		{"I've booked your table for four on Friday", "Friday", "2023-05-26", "2023-05-26"},
		{"I have already reserved the room, Friday at 9", "Friday", "2023-05-26", "2023-05-26"},
		{"I've gone ahead and booked it on Friday", "Friday", "2023-05-26", "2023-05-26"},
		{"I've booked your table on 3 June", "3 June", "2023-06-03", "2023-06-03"},
		{"I booked your table on Friday", "Friday", "2023-05-19", "2023-05-19"},
		{"have you booked the table on Friday?", "Friday", "2023-05-26", "2023-05-26"},
		{"I should have booked it on Friday", "Friday", "2023-05-19", "2023-05-19"},
		{"I've been to Rome and on Friday I met Anna", "Friday", "2023-05-19", "2023-05-19"},
		{"we have moved in November", "November", "2022-11", "2022-11-01"},
		{"ordered the flowers, they arrive Saturday", "Saturday", "2023-05-27", "2023-05-27"},
		{"ordered the flowers and they arrive saturday", "saturday", "2023-05-27", "2023-05-27"},
		{"ordered the cake, it comes on Saturday", "Saturday", "2023-05-27", "2023-05-27"},
		{"I went home, she left on Saturday", "Saturday", "2023-05-20", "2023-05-20"},
		{"I went home, she read to us on Saturday", "Saturday", "2023-05-20", "2023-05-20"},
	} {
		got := text.Dates(c.text, thursday)
		if len(got) != 1 {
			t.Errorf("%q: found %d dates %+v, want one", c.text, len(got), got)
			continue
		}
		m, first := got[0], ""
		if !m.Time.IsZero() {
			first = m.Time.Format(time.DateOnly)
		}
		if expression := c.text[m.Start:m.End]; expression != c.expression || m.Note != c.note || first != c.first {
			t.Errorf("%q: got %q (%s) %s, want %q (%s) %s", c.text, expression, m.Note, first, c.expression, c.note, c.first)
		}
	}
}

func TestDatesLeaveOrdinaryWordsAlone(t *testing.T) {
	for _, said := range []string{
		"I may come", "May I ask?", "we sat down", "wait a second", "the sun is out", "march on", "they march in step",
		"every Friday",
		"I bake on Sunday mornings",
		"I swim on Fridays", "three days in Rome", "for two years", "a day at the beach", "room 2019", "I have 2000 stamps",
		"the last straw",
		"next to me", "this is it", "past tense", "spring rolls", "I fall asleep", "each Monday", "the second one",
		"in a day",
		"in three days we walked it", "12/345/6", "2023-99-99", "30 February is no day", "an august company",
		"3 may come", "i may 3 times", "we march 3 miles", "we march on", "he last sat there", "this sun is hot",
		"the last may have gone",
		"this may be it", "in mar", "every tuesday", "tuesdays", "every other friday", "i work monday to friday",
		"on friday nights",
		"raid nights are tues/thurs", "i do it on monday and wednesday", "on a wednesday",
		"she teaches sunday school", "every third Thursday", "from monday 3rd", "thurs to fri",
		"they wed in secret", "mon ami", "for march madness", "in may be", "sat 5 of us down",
		"iphone 14 may", "the 3 may be nice", "the 3 may come", "the 3rd may be nice", "in may i help you?",
		"we may 2030 be there",
		"i sat 9:30 to 10", "spider-man 2 march", "my friend jan 3 years old", "My friend Jan 3 years old", "we may 3",
	} {
		if got := text.Dates(said, thursday); len(got) != 0 {
			t.Errorf("%q: found %+v, want nothing", said, got)
		}
	}
}

func TestDatesOnWeekendAndYearEnds(t *testing.T) {
	for _, c := range []struct{ at, text, note string }{
		{"2023-05-27", "last weekend", "weekend of 2023-05-20"},
		{"2023-05-28", "this weekend", "weekend of 2023-05-27"},
		{"2023-05-28", "last week", "week of 2023-05-15"},
		{"2024-01-01", "yesterday", "2023-12-31"},
		{"2024-01-01", "last month", "2023-12"},
		{"2024-03-31", "last month", "2024-02"},
		{"2024-02-29", "last year", "2023"},
		{"2024-01-10", "last winter", "winter 2022"},
		{"2023-05-22", "the meeting is on Tuesday", "2023-05-23"},
		{"2023-05-23", "the meeting is on tuesday", "2023-05-30"},
		{"2023-12-28", "am 3. Januar fliege ich", "2024-01-03"},
		{"2024-01-03", "am 28. Dezember war ich da", "2023-12-28"},
	} {
		at, err := time.Parse(time.DateOnly, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := text.Dates(c.text, at); len(got) != 1 || got[0].Note != c.note {
			t.Errorf("%q on %s: got %+v, want %s", c.text, c.at, got, c.note)
		}
	}
}

func FuzzDates(f *testing.F) {
	for _, s := range []string{"last week", "May 7th, 2023", "in 2019 or two weeks ago", "", "\xff\xfe last \x00 week",
		strings.Repeat("May 5 ", 40), "١٢ May",
		"am 3. März 2020 vor zwei Wochen", "昨日、3月3日 2年前", "el lunes pasado 03/05/2023", "다음 주에 3월 3일",
		"wczoraj śnię \xff 3 marca"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, said string) {
		end := 0
		for _, m := range text.Dates(said, thursday) {
			if m.Start < end || m.End <= m.Start || m.End > len(said) || !utf8.ValidString(m.Note) {
				t.Fatalf("%q: bad mention %+v after %d", said, m, end)
			}
			end = m.End
		}
	})
}

func TestLastDayOfAMention(t *testing.T) {
	at := time.Date(2024, 2, 14, 12, 0, 0, 0, time.UTC) // a Wednesday
	for said, want := range map[string]string{
		"yesterday": "2024-02-13", "last week": "2024-02-11", "next month": "2024-03-31", "in 2023": "2023-12-31",
		"last weekend":    "2024-02-11",
		"a few years ago": "0001-01-01",
	} {
		mentions := text.Dates("We met "+said+".", at)
		if len(mentions) != 1 || mentions[0].Last().Format(time.DateOnly) != want {
			t.Errorf("%s: got %+v, want the last day %s", said, mentions, want)
		}
	}
}

// A text of date-like words takes time linear in its length: less than a tenth of a second for 32 KiB.
func BenchmarkDatesOfManyWords(b *testing.B) {
	for _, part := range []string{"in 1 week ", "tues thurs ", "monday ", "30 february ", "last ", "we sat 5 "} {
		said := strings.Repeat(part, 32<<10/len(part))
		b.Run(strings.TrimSpace(part), func(b *testing.B) {
			for b.Loop() {
				text.Dates(said, thursday)
			}
		})
	}
}
