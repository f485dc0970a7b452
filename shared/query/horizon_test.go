package query_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
)

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

func TestTheHorizonOfAQuery(t *testing.T) {
	now := day(2024, 6, 12).Add(15 * time.Hour)
	for text, want := range map[string]query.Horizon{
		"Where does Ana live?":                          {},
		"What will she do next week?":                   {},
		"What does Ana do today?":                       {},
		"Where did Ana use to live?":                    {Intent: intent.Past},
		"Where did Ana live before?":                    {Intent: intent.Past},
		"Where did Ana live before she moved to Braga?": {Intent: intent.Past},
		"What was her previous job?":                    {Intent: intent.Past},
		"What was Ana's old car?":                       {Intent: intent.Past},
		"Who used to walk the dog?":                     {Intent: intent.Past},
		"What did she originally study?":                {Intent: intent.Past},
		"Does he not smoke any more?":                   {},
		"Where did Ana live in 2022?": {Intent: intent.Past,
			At: day(2023, 1, 1).Add(-1)},
		"Where did Ana work in March 2024?": {Intent: intent.Past,
			At: day(2024, 4, 1).Add(-1)},
		// today's knowledge answers
		"Did Ana meet Eva yesterday?": {Intent: intent.Event},
		"Where did Ana live on 3 May 2023 and in 2020?": {Intent: intent.Past,
			At: day(2023, 5, 4).Add(-1)},
		"Is the trip in 2025 still on?":                           {},
		"What was Ana's address a few years ago?":                 {Intent: intent.Past},
		"I met Ana on 24 May 2023. What is her favourite coffee?": {},
		"Since 2022, which coffee is her favourite?":              {},
		"Since she is ill, where did Ana work before?":            {Intent: intent.Past},
		"Where did Ana use to live, and has she moved since?":     {Intent: intent.Past},
		"Where did Ana live in 2022, since it was not Porto?": {Intent: intent.Past,
			At: day(2023, 1, 1).Add(-1)},
		"What was her previous job, since she left it?":                    {Intent: intent.Past},
		"What has Ana done since last week?":                               {},
		"Where has Ana lived since early 2022?":                            {},
		"What coffee should I order for Ana on her first day?":             {},
		"What was agreed in our last talk, and what coffee does she like?": {},
		"She lived in Porto before. Where does she live now?":              {},
		"What was her first job?":                                          {Intent: intent.Past},
		"¿Dónde vivía Ana antes?":                                          {}, // few of its words are read
		"¿Dónde vive Ana?":                                                 {},
		"¿Dónde vivía Ana en 2022?": {Intent: intent.Past,
			At: day(2023, 1, 1).Add(-1)},
		"Где жила Анна в 2022 году?": {Intent: intent.Past,
			At: day(2023, 1, 1).Add(-1)},
		"She is an old friend, how is she?": {},
	} {
		if got := query.Understand(query.Input{Text: text, Now: now}).Horizon; got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	asOf := day(2021, 1, 1)
	if got := query.Understand(query.Input{Text: "Where does Ana live?", AsOf: asOf,
		Now: now}).Horizon; got != (query.Horizon{Intent: intent.Past, At: asOf, Exact: true}) {
		t.Errorf("as of a time: %+v", got)
	}
}
