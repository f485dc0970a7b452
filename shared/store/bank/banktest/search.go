package banktest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// searchCases test searches.
func searchCases() []testCase {
	return append([]testCase{
		{"search by text", testSearchText},
		{"search by vector", testSearchVector},
		{"search by both", testSearchHybrid},
		{"search weighs by alpha", testSearchAlpha},
		{"search by state and number", testSearchBounds},
		{"search survives any text", testSearchAnyText},
		{"search returns vectors when asked", testSearchVectors},
		{"malformed queries are terminal", testBadQueries},
	}, wordCases()...)
}

func testSearchText(t *testing.T, b bank.Bank) {
	scope := newScope()
	byContent, byTopic := entry(scope, 1, "Ana plays the violin"), entry(scope, 2, "On Mondays")
	byKeyword, bySlot := entry(scope, 3, "On Fridays"), entry(scope, 5, "On Sundays")
	byValue := entry(scope, 6, "On Tuesdays")
	byValue.Value = "Ana (2024-05-07): my violin lesson was great"
	byTopic.Topic, byKeyword.Keywords, bySlot.Slot = "violin", []string{"opera", "violin"}, "ana/name of violin"
	decoy := entry(scope, 4, "Ana swims")
	decoy.OperationID, decoy.SessionID, decoy.Sources = "violin", "violin", []string{"violin"}
	write(t, b, scope, put(byContent, byTopic, byKeyword, bySlot, byValue, decoy))
	got := foundIDs(search(t, b, scope, bank.Query{Text: "VIOLIN?"}))
	want := ids([]memory.Memory{byContent, byTopic, byKeyword, bySlot, byValue})
	slices.Sort(got)
	slices.Sort(want)
	wantIDs(t, "found", got, want)
	if got := search(t, b, scope, bank.Query{Text: "accordion"}); len(got) != 0 {
		t.Errorf("found %d entries for a word nobody said", len(got))
	}
}

func testSearchVector(t *testing.T, b bank.Bank) {
	scope := newScope()
	near, far := entry(scope, 1, "one"), entry(scope, 2, "two")
	near.Vector, far.Vector = memory.Vector{3, 4, 0, 0}, memory.Vector{0, 0, 5, 0}
	write(t, b, scope, put(far, near))
	got := search(t, b, scope, bank.Query{Text: "two", Vector: memory.Vector{0.3, 0.4, 0, 0}, Alpha: 1})
	wantIDs(t, "found", foundIDs(got), ids([]memory.Memory{near, far}))
}

func testSearchHybrid(t *testing.T, b bank.Bank) {
	scope := newScope()
	both, text, direction := entry(scope, 1, "Ana plays the violin"), entry(scope, 2, "Ana played a violin"),
		entry(scope, 3, "Ana swims")
	neither := entry(scope, 4, "On Mondays")
	both.Vector, direction.Vector = axis(0), memory.Vector{0.9, 0.1, 0, 0}
	text.Vector, neither.Vector = axis(2), axis(3)
	write(t, b, scope, put(neither, direction, text, both))
	got := foundIDs(search(t, b, scope, bank.Query{Text: "violin", Vector: axis(0), Alpha: 0.5}))
	if len(got) < 3 || got[0] != both.ID {
		t.Fatalf("got %v, want %s first of at least three", got, both.ID)
	}
	if !slices.Contains(got, text.ID) || !slices.Contains(got, direction.ID) {
		t.Errorf("one side is missing: %v", got)
	}
}

func testSearchAlpha(t *testing.T, b bank.Bank) {
	scope := newScope()
	text, direction := entry(scope, 1, "Ana plays the violin"), entry(scope, 2, "Ana swims")
	text.Vector, direction.Vector = axis(2), axis(0)
	write(t, b, scope, put(text, direction))
	q := bank.Query{Text: "violin", Vector: axis(0), Alpha: 0.2, K: 1}
	wantIDs(t, "mostly text", foundIDs(search(t, b, scope, q)), []string{text.ID})
	q.Alpha = 0.8
	wantIDs(t, "mostly vector", foundIDs(search(t, b, scope, q)), []string{direction.ID})
	q.Alpha, q.K = 0, 0
	wantIDs(t, "text only", foundIDs(search(t, b, scope, q)), []string{text.ID})
}

func testSearchBounds(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries []memory.Memory
	for n := range 230 {
		m := entry(scope, n, content(n))
		if n >= 210 {
			m.Status = memory.StatusSuperseded
		}
		entries = append(entries, m)
	}
	write(t, b, scope, put(entries...))
	for name, q := range map[string]bank.Query{
		"text": {Text: "bicycle"}, "vector": {Vector: axis(1), Alpha: 1},
		"both": {Text: "bicycle", Vector: axis(1), Alpha: 0.5},
	} {
		for k, want := range map[int]int{0: bank.DefaultK, 1: 1, 35: 35, bank.MaxK: bank.MaxK} {
			q.K = k
			if got := search(t, b, scope, q); len(got) != want {
				t.Errorf("%s, K %d: got %d entries, want %d", name, k, len(got), want)
			}
		}
		q.K, q.Statuses = bank.MaxK, []memory.Status{memory.StatusSuperseded}
		if got := search(t, b, scope, q); len(got) != 20 || got[0].Memory.Status != memory.StatusSuperseded {
			t.Errorf("%s, superseded: got %d entries, want 20", name, len(got))
		}
	}
}

func testSearchAnyText(t *testing.T, b bank.Bank) {
	scope := newScope()
	write(t, b, scope, put(entry(scope, 1, "Ana swims")))
	for _, text := range []string{
		"", " \n", "the of and", "?", "*", `"`, `\`, `"Ana" AND {swims}`, "🚲", "日本", "\x00", "a\x00b",
		strings.Repeat("Ana swims ", 10_000), strings.Repeat("x", 100_000),
	} {
		for _, vector := range []memory.Vector{nil, axis(0)} {
			for _, alpha := range []float32{0, 0.5, 1} {
				search(t, b, scope, bank.Query{Text: text, Vector: vector, Alpha: alpha})
			}
		}
	}
	for _, text := range []string{"", "the of and"} {
		if got := search(t, b, scope, bank.Query{Text: text, Vector: axis(0), Alpha: 0.5}); len(got) != 1 {
			t.Errorf("%q with a vector: got %d entries, want 1", text, len(got))
		}
	}
	if got := search(t, b, scope, bank.Query{}); len(got) != 0 {
		t.Errorf("an empty query: got %d entries, want none", len(got))
	}
}

func testSearchVectors(t *testing.T, b bank.Bank) {
	scope := newScope()
	m := entry(scope, 1, "Ana swims")
	m.Vector = memory.Vector{1, 2, 3, 4}
	write(t, b, scope, put(m))
	for name, q := range map[string]bank.Query{
		"text": {Text: "Ana"}, "vector": {Vector: axis(1), Alpha: 1}, "both": {Text: "Ana", Vector: axis(1), Alpha: 0.5},
	} {
		if got := search(t, b, scope, q); len(got) != 1 || got[0].Memory.Vector != nil {
			t.Errorf("%s: want one entry without a vector, got %+v", name, got)
		}
		q.WithVectors = true
		got := search(t, b, scope, q)
		if len(got) != 1 || math.Abs(memory.Cosine(got[0].Memory.Vector, m.Vector)-1) > 1e-6 {
			t.Errorf("%s: want one entry with its vector, got %+v", name, got)
		}
	}
}

func testBadQueries(t *testing.T, b bank.Bank) {
	for name, q := range map[string]bank.Query{
		"query.k": {K: bank.MaxK + 1}, "query.k ": {K: -1}, "query.alpha": {Alpha: 1.5},
		"query.alpha ": {Alpha: float32(math.NaN())},
		"query.vector": {Vector: make(memory.Vector, Dimension-1)}, "query.vector ": {Vector: memory.Vector{}},
		"query.text": {Text: "\xff"},
		"status":     {Text: "x", Statuses: []memory.Status{"gone"}},
	} {
		_, err := b.Search(t.Context(), newScope(), q)
		if !fault.IsTerminal(err) || fault.Field(err) != strings.TrimSpace(name) {
			t.Errorf("%s: got %v, want a terminal error about it", name, err)
		}
	}
}
