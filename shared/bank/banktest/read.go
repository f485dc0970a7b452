package banktest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func testReadYourWrites(t *testing.T, b bank.Bank) {
	scope := newScope()
	for n := range 30 {
		m := entry(scope, n, content(n))
		write(t, b, scope, put(m))
		if got := search(t, b, scope, bank.Query{Text: content(n), K: bank.MaxK}); !slices.Contains(foundIDs(got), m.ID) {
			t.Fatalf("entry %d is not found by text", n)
		}
		if got := search(t, b, scope, bank.Query{Vector: axis(n), Alpha: 1, K: bank.MaxK}); !slices.Contains(foundIDs(got), m.ID) {
			t.Fatalf("entry %d is not found by vector", n)
		}
		if got := listAll(t, b, scope, bank.ListOptions{}); len(got) != n+1 {
			t.Fatalf("%d entries listed after %d writes", len(got), n+1)
		}
	}
}

func testHistoryChain(t *testing.T, b bank.Bank) {
	scope := newScope()
	versions := []memory.Memory{entry(scope, 0, content(0))}
	write(t, b, scope, put(versions[0], entry(scope, 100, "unrelated")))
	for n := 1; n < 4; n++ {
		before := versions[n-1]
		next := successor(scope, n, content(n), before)
		write(t, b, scope, memory.Write{Put: []memory.Memory{next}, Close: []memory.Closing{closing(before, memory.StatusSuperseded, next.RecordedAt)}})
		versions = append(versions, next)
	}
	for _, from := range versions {
		wantHistory(t, b, scope, from.ID, versions)
	}
}

func testHistoryMerge(t *testing.T, b bank.Bank) {
	scope := newScope()
	one, two := entry(scope, 1, content(1)), entry(scope, 2, content(2))
	newer := successor(scope, 3, content(3), two)
	merged := successor(scope, 4, content(4), one, newer)
	// Versions of one write share their time: the order is that of versions then.
	merged.RecordedAt = newer.RecordedAt
	last := successor(scope, 5, content(5), merged)
	write(t, b, scope, put(one, two))
	write(t, b, scope, put(newer, merged))
	write(t, b, scope, put(last))
	for _, from := range []memory.Memory{one, two, merged, last} {
		wantHistory(t, b, scope, from.ID, []memory.Memory{one, two, newer, merged, last})
	}
}

func wantHistory(t *testing.T, b bank.Bank, scope memory.Scope, id string, want []memory.Memory) {
	t.Helper()
	got, err := b.History(t.Context(), scope, id)
	if err != nil {
		t.Fatalf("History: %v", err)
	}
	wantIDs(t, "history", ids(got), ids(want))
	for _, m := range got {
		if m.Vector != nil {
			t.Errorf("history carries vectors")
		}
	}
}

func testPages(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries []memory.Memory
	for n := range 250 {
		entries = append(entries, entry(scope, n, content(n)))
	}
	shuffled := slices.Clone(entries)
	slices.SortFunc(shuffled, func(a, z memory.Memory) int { return strings.Compare(a.ID, z.ID) })
	write(t, b, scope, put(shuffled...))
	for _, limit := range []int{0, 7, 50, 250, bank.MaxLimit} {
		wantIDs(t, "all pages", ids(listAll(t, b, scope, bank.ListOptions{Limit: limit})), ids(entries))
	}
	for _, m := range listAll(t, b, scope, bank.ListOptions{}) {
		if m.Vector != nil {
			t.Fatalf("a page carries vectors")
		}
	}
}

func testPagesSameTime(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries []memory.Memory
	for n := range 30 {
		m := entry(scope, n, content(n))
		m.RecordedAt = epoch.Add(time.Duration(n/12) * time.Nanosecond)
		entries = append(entries, m)
	}
	write(t, b, scope, put(entries...))
	slices.SortFunc(entries, bank.ByRecorded)
	for _, limit := range []int{1, 5, 12, 13} {
		wantIDs(t, "all pages", ids(listAll(t, b, scope, bank.ListOptions{Limit: limit})), ids(entries))
	}
}

func testPagesByStatus(t *testing.T, b bank.Bank) {
	scope := newScope()
	of := map[memory.Status][]string{}
	states := []memory.Status{memory.StatusActive, memory.StatusSuperseded, memory.StatusRetracted}
	for n := range 30 {
		m := entry(scope, n, content(n))
		m.Status = states[n%3]
		of[m.Status] = append(of[m.Status], m.ID)
		write(t, b, scope, put(m))
	}
	for _, s := range states {
		got := listAll(t, b, scope, bank.ListOptions{Statuses: []memory.Status{s}, Limit: 3})
		wantIDs(t, string(s), ids(got), of[s])
	}
	if got := listAll(t, b, scope, bank.ListOptions{Statuses: states[:2], Limit: 7}); len(got) != 20 {
		t.Errorf("two states: got %d entries, want 20", len(got))
	}
}

func testPagesStable(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries []memory.Memory
	for n := range 6 {
		entries = append(entries, entry(scope, 2*n, content(n)))
	}
	write(t, b, scope, put(entries...))
	first, err := b.List(t.Context(), scope, bank.ListOptions{Limit: 3})
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	early, late := entry(scope, 1, "before the place"), entry(scope, 7, "after the place")
	write(t, b, scope, memory.Write{
		Put: []memory.Memory{early, late}, Close: []memory.Closing{closing(entries[2], memory.StatusRetracted, epoch)},
	})
	rest := listAll(t, b, scope, bank.ListOptions{Limit: 3, Token: first.Next})
	wantIDs(t, "the rest", ids(rest), ids([]memory.Memory{entries[3], late, entries[4], entries[5]}))
}

func testBadPages(t *testing.T, b bank.Bank) {
	for name, o := range map[string]bank.ListOptions{
		"page_token": {Token: "not a token"}, "page_size": {Limit: bank.MaxLimit + 1}, "page_size ": {Limit: -1},
		"status": {Statuses: []memory.Status{"gone"}},
	} {
		_, err := b.List(t.Context(), newScope(), o)
		if !fault.IsTerminal(err) || fault.Field(err) != strings.TrimSpace(name) {
			t.Errorf("%s: got %v, want a terminal error about it", name, err)
		}
	}
}

func testSearchText(t *testing.T, b bank.Bank) {
	scope := newScope()
	byContent, byTopic, byKeyword := entry(scope, 1, "Ana plays the violin"), entry(scope, 2, "On Mondays"), entry(scope, 3, "On Fridays")
	byTopic.Topic, byKeyword.Keywords = "violin", []string{"opera", "violin"}
	decoy := entry(scope, 4, "Ana swims")
	decoy.Slot, decoy.SessionID, decoy.Sources = "violin", "violin", []string{"violin"}
	write(t, b, scope, put(byContent, byTopic, byKeyword, decoy))
	got := foundIDs(search(t, b, scope, bank.Query{Text: "VIOLIN?"}))
	want := ids([]memory.Memory{byContent, byTopic, byKeyword})
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
	both, text, direction := entry(scope, 1, "Ana plays the violin"), entry(scope, 2, "Ana heard a violin"), entry(scope, 3, "Ana swims")
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
		"text": {Text: "bicycle"}, "vector": {Vector: axis(1), Alpha: 1}, "both": {Text: "bicycle", Vector: axis(1), Alpha: 0.5},
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
		"", " \n", "the of and", "?", "*", `"`, `\`, `"Ana" AND {swims}`, "🚲", "日本", "\x00", "a\x00b", strings.Repeat("Ana swims ", 10_000), strings.Repeat("x", 100_000),
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
		"query.k": {K: bank.MaxK + 1}, "query.k ": {K: -1}, "query.alpha": {Alpha: 1.5}, "query.alpha ": {Alpha: float32(math.NaN())},
		"query.vector": {Vector: make(memory.Vector, Dimension-1)}, "query.vector ": {Vector: memory.Vector{}}, "query.text": {Text: "\xff"},
		"status": {Text: "x", Statuses: []memory.Status{"gone"}},
	} {
		_, err := b.Search(t.Context(), newScope(), q)
		if !fault.IsTerminal(err) || fault.Field(err) != strings.TrimSpace(name) {
			t.Errorf("%s: got %v, want a terminal error about it", name, err)
		}
	}
}

func testCancelled(t *testing.T, b bank.Bank) {
	scope := newScope()
	fill(t, b, scope)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Search(ctx, scope, bank.Query{Text: "Ana"})
	if !errors.Is(err, context.Canceled) || fault.IsRetryable(err) {
		t.Errorf("Search: got %v, want %v", err, context.Canceled)
	}
	if err := b.Write(ctx, scope, put(entry(scope, 2, "Ana runs"))); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: got %v, want %v", err, context.Canceled)
	}
}

func testPing(t *testing.T, b bank.Bank) {
	if err := b.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}
