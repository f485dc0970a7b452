package recall_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

func TestReadHorizon(t *testing.T) {
	now := day(2024, 6, 12).Add(15 * time.Hour)
	for query, want := range map[string]recall.Horizon{
		"Where does Ana live?":                                             {},
		"What will she do next week?":                                      {},
		"What does Ana do today?":                                          {},
		"Where did Ana use to live?":                                       {Past: true},
		"Where did Ana live before?":                                       {Past: true},
		"Where did Ana live before she moved to Braga?":                    {Past: true},
		"What was her previous job?":                                       {Past: true},
		"What was Ana's old car?":                                          {Past: true},
		"Who used to walk the dog?":                                        {Past: true},
		"What did she originally study?":                                   {Past: true},
		"Does he not smoke any more?":                                      {},
		"Where did Ana live in 2022?":                                      {Past: true, At: day(2023, 1, 1).Add(-1)},
		"Where did Ana work in March 2024?":                                {Past: true, At: day(2024, 4, 1).Add(-1)},
		"Did Ana meet Eva yesterday?":                                      {Event: true}, // it happened: today's knowledge of it answers
		"Where did Ana live on 3 May 2023 and in 2020?":                    {Past: true, At: day(2023, 5, 4).Add(-1)},
		"Is the trip in 2025 still on?":                                    {},
		"What was Ana's address a few years ago?":                          {Past: true},
		"I met Ana on 24 May 2023. What is her favourite coffee?":          {},
		"Since 2022, which coffee is her favourite?":                       {},
		"Since she is ill, where did Ana work before?":                     {Past: true},
		"Where did Ana use to live, and has she moved since?":              {Past: true},
		"Where did Ana live in 2022, since it was not Porto?":              {Past: true, At: day(2023, 1, 1).Add(-1)},
		"What was her previous job, since she left it?":                    {Past: true},
		"What has Ana done since last week?":                               {},
		"Where has Ana lived since early 2022?":                            {},
		"What coffee should I order for Ana on her first day?":             {},
		"What was agreed in our last talk, and what coffee does she like?": {},
		"She lived in Porto before. Where does she live now?":              {},
		"What was her first job?":                                          {Past: true},
		"¿Dónde vivía Ana antes?":                                          {}, // few of its words are read
		"¿Dónde vive Ana?":                                                 {},
		"¿Dónde vivía Ana en 2022?":                                        {Past: true, At: day(2023, 1, 1).Add(-1)},
		"Где жила Анна в 2022 году?":                                       {Past: true, At: day(2023, 1, 1).Add(-1)},
		"She is an old friend, how is she?":                                {},
	} {
		if got := recall.ReadHorizon(query, time.Time{}, now); got != want {
			t.Errorf("%s: got %+v, want %+v", query, got, want)
		}
	}
	asOf := day(2021, 1, 1)
	if got := recall.ReadHorizon("Where does Ana live?", asOf, now); got != (recall.Horizon{Past: true, At: asOf, Exact: true}) {
		t.Errorf("as of a time: %+v", got)
	}
}

func version(id string, from time.Time, status memory.Status, predecessors ...string) bank.Scored {
	return bank.Scored{Memory: memory.Memory{ID: id, ValidFrom: from, Status: status, Version: len(predecessors) + 1,
		Predecessors: predecessors}}
}

func TestFilter(t *testing.T) {
	found := []bank.Scored{
		version("braga", day(2024, 3, 1), memory.StatusActive, "porto"),
		version("dog", day(2023, 1, 1), memory.StatusActive),
		version("lisbon", day(2021, 1, 1), memory.StatusSuperseded),
		version("porto", day(2022, 5, 1), memory.StatusSuperseded, "lisbon"),
	}
	for name, c := range map[string]struct {
		h    recall.Horizon
		want []string
	}{
		"now keeps what was found":           {recall.Horizon{}, []string{"braga", "dog", "lisbon", "porto"}},
		"the past keeps what held before":    {recall.Horizon{Past: true}, []string{"dog", "lisbon", "porto"}},
		"a time keeps what held then":        {recall.Horizon{Past: true, At: day(2023, 1, 1)}, []string{"dog", "porto"}},
		"the day of a change is the new one": {recall.Horizon{Past: true, At: day(2024, 3, 1)}, []string{"braga", "dog"}},
		"before all that was told":           {recall.Horizon{Past: true, At: day(1999, 1, 1)}, []string{"dog", "lisbon"}},
		"exactly then, nothing was told":     {recall.Horizon{Past: true, At: day(1999, 1, 1), Exact: true}, nil},
	} {
		var got []string
		for _, s := range c.h.Filter(found) {
			got = append(got, s.Memory.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestWhatHappenedIsToldByWhatNoLongerHoldsToo(t *testing.T) {
	said := func(s bank.Scored, turns ...string) bank.Scored {
		s.Memory.Sources = turns
		return s
	}
	found := []bank.Scored{
		said(version("moved to Porto", day(2023, 1, 1), memory.StatusSuperseded), "1"),
		said(version("moved to Braga", day(2024, 1, 1), memory.StatusActive, "moved to Porto"), "5"),
		said(version("sells the car and the boat", day(2023, 2, 1), memory.StatusSuperseded), "2"),
		said(version("sells the boat", day(2023, 2, 1), memory.StatusActive, "sells the car and the boat"), "2"),
		said(version("never so", day(2023, 3, 1), memory.StatusRetracted), "3"),
	}
	var got []string
	for _, s := range (recall.Horizon{Event: true}).Filter(found) {
		got = append(got, s.Memory.ID)
	}
	if want := []string{"moved to Porto", "moved to Braga", "sells the boat"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

func TestFilterFollowsAMergeToAllItsVersions(t *testing.T) {
	found := []bank.Scored{
		version("a", day(2021, 1, 1), memory.StatusSuperseded), version("b", day(2021, 2, 1), memory.StatusSuperseded),
		version("c", day(2021, 3, 1), memory.StatusSuperseded, "b"), version("d", day(2022, 1, 1), memory.StatusActive, "a", "c"),
	}
	got := recall.Horizon{Past: true, At: day(2023, 1, 1)}.Filter(found)
	if len(got) != 1 || got[0].Memory.ID != "d" {
		t.Errorf("got %+v, want the merged version alone", got)
	}
}

func TestFilterLeavesOutWhatDidNotHoldThen(t *testing.T) {
	over, false1, denied := version("over", day(2021, 1, 1), memory.StatusSuperseded),
		version("deleted", day(2021, 1, 1), memory.StatusRetracted), version("denied", day(2021, 1, 1), memory.StatusRetracted)
	over.Memory.ValidTo, false1.Memory.ValidTo, denied.Memory.ValidTo = day(2022, 1, 1), day(2021, 1, 1), day(2022, 1, 1)
	found := []bank.Scored{over, false1, denied}
	for name, c := range map[string]struct {
		h    recall.Horizon
		want int
	}{
		"in the past":         {recall.Horizon{Past: true}, 2},
		"while it held":       {recall.Horizon{Past: true, At: day(2021, 6, 1)}, 2},
		"when it was over":    {recall.Horizon{Past: true, At: day(2023, 6, 1)}, 0},
		"before it was known": {recall.Horizon{Past: true, At: day(2020, 6, 1)}, 2},
	} {
		got := c.h.Filter(found)
		if len(got) != c.want {
			t.Errorf("%s: %d memories, want %d: %+v", name, len(got), c.want, got)
		}
		for _, s := range got {
			if s.Memory.ID == "deleted" {
				t.Errorf("%s: what was deleted is shown", name)
			}
		}
	}
}

func TestInOrderPutsTheLinkedOneOfTheTimeAskedAboutFirst(t *testing.T) {
	linked := func(id string, from time.Time, links ...string) memory.Memory {
		return memory.Memory{ID: id, ValidFrom: from, Links: links}
	}
	a, b, c, dog := linked(
		"a",
		day(2021, 1, 1),
	), linked(
		"b",
		day(2022, 1, 1),
		"a",
		"gone",
	), linked(
		"c",
		day(2023, 1, 1),
		"b",
	), linked(
		"dog",
		day(2020, 1, 1),
	)
	for name, x := range map[string]struct {
		h      recall.Horizon
		ranked []memory.Memory
		want   string
	}{
		"now, the newer":           {recall.Horizon{}, []memory.Memory{a, dog, b}, "b a dog"},
		"now, as it is":            {recall.Horizon{}, []memory.Memory{b, dog, a}, "b dog a"},
		"now, one after the other": {recall.Horizon{}, []memory.Memory{a, dog, c, b}, "c b a dog"},
		"the past, the older":      {recall.Horizon{Past: true}, []memory.Memory{dog, c, b, a}, "dog a b c"},
		"when only one was known":  {recall.Horizon{Past: true, At: day(2021, 6, 1)}, []memory.Memory{b, a}, "a b"},
		"when the newer was known": {recall.Horizon{Past: true, At: day(2022, 6, 1)}, []memory.Memory{a, b}, "b a"},
		"in a circle, all of it": {
			recall.Horizon{}, []memory.Memory{linked("x", day(2020, 1, 1), "y"), linked("y", day(2020, 1, 1), "x")}, "y x",
		},
		"linked to what is not here": {recall.Horizon{}, []memory.Memory{dog, b}, "dog b"},
	} {
		var got []string
		for _, m := range recall.InOrder(x.h, x.ranked, func(m memory.Memory) memory.Memory { return m }) {
			got = append(got, m.ID)
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s: got %v, want %s", name, got, x.want)
		}
	}
}
