package recall_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
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
		h    query.Horizon
		want []string
	}{
		"now keeps what was found":        {query.Horizon{}, []string{"braga", "dog", "lisbon", "porto"}},
		"the past keeps what held before": {query.Horizon{Intent: intent.Past}, []string{"dog", "lisbon", "porto"}},
		"a time keeps what held then": {query.Horizon{Intent: intent.Past, At: day(2023, 1, 1)},
			[]string{"dog", "porto"}},
		"the day of a change is the new one": {query.Horizon{Intent: intent.Past, At: day(2024, 3, 1)},
			[]string{"braga", "dog"}},
		"before all that was told": {query.Horizon{Intent: intent.Past, At: day(1999, 1, 1)},
			[]string{"dog", "lisbon"}},
		"exactly then, nothing was told": {query.Horizon{Intent: intent.Past, At: day(1999, 1, 1), Exact: true}, nil},
	} {
		var got []string
		for _, s := range recall.Within(c.h, found) {
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
	for _, s := range recall.Within(query.Horizon{Intent: intent.Event}, found) {
		got = append(got, s.Memory.ID)
	}
	if want := []string{"moved to Porto", "moved to Braga", "sells the boat"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

func TestFilterFollowsAMergeToAllItsVersions(t *testing.T) {
	found := []bank.Scored{
		version("a", day(2021, 1, 1), memory.StatusSuperseded), version("b", day(2021, 2, 1), memory.StatusSuperseded),
		version("c", day(2021, 3, 1), memory.StatusSuperseded, "b"),
		version("d", day(2022, 1, 1), memory.StatusActive, "a", "c"),
	}
	got := recall.Within(query.Horizon{Intent: intent.Past, At: day(2023, 1, 1)}, found)
	if len(got) != 1 || got[0].Memory.ID != "d" {
		t.Errorf("got %+v, want the merged version alone", got)
	}
}

func TestFilterLeavesOutWhatDidNotHoldThen(t *testing.T) {
	over, false1, denied := version("over", day(2021, 1, 1), memory.StatusSuperseded),
		version("deleted", day(2021, 1, 1), memory.StatusRetracted),
		version("denied", day(2021, 1, 1), memory.StatusRetracted)
	over.Memory.ValidTo, false1.Memory.ValidTo, denied.Memory.ValidTo = day(2022, 1, 1), day(2021, 1, 1), day(2022, 1, 1)
	found := []bank.Scored{over, false1, denied}
	for name, c := range map[string]struct {
		h    query.Horizon
		want int
	}{
		"in the past":         {query.Horizon{Intent: intent.Past}, 2},
		"while it held":       {query.Horizon{Intent: intent.Past, At: day(2021, 6, 1)}, 2},
		"when it was over":    {query.Horizon{Intent: intent.Past, At: day(2023, 6, 1)}, 0},
		"before it was known": {query.Horizon{Intent: intent.Past, At: day(2020, 6, 1)}, 2},
	} {
		got := recall.Within(c.h, found)
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
		h      query.Horizon
		ranked []memory.Memory
		want   string
	}{
		"now, the newer":           {query.Horizon{}, []memory.Memory{a, dog, b}, "b a dog"},
		"now, as it is":            {query.Horizon{}, []memory.Memory{b, dog, a}, "b dog a"},
		"now, one after the other": {query.Horizon{}, []memory.Memory{a, dog, c, b}, "c b a dog"},
		"the past, the older":      {query.Horizon{Intent: intent.Past}, []memory.Memory{dog, c, b, a}, "dog a b c"},
		"when only one was known":  {query.Horizon{Intent: intent.Past, At: day(2021, 6, 1)}, []memory.Memory{b, a}, "a b"},
		"when the newer was known": {query.Horizon{Intent: intent.Past, At: day(2022, 6, 1)}, []memory.Memory{a, b}, "b a"},
		"in a circle, all of it": {
			query.Horizon{}, []memory.Memory{linked("x", day(2020, 1, 1), "y"), linked("y", day(2020, 1, 1), "x")}, "y x",
		},
		"linked to what is not here": {query.Horizon{}, []memory.Memory{dog, b}, "dog b"},
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
