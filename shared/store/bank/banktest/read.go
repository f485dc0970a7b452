package banktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// readCases test reads after writes.
func readCases() []testCase {
	return []testCase{
		{"what is written is read at once", testReadYourWrites},
		{"history of an update of an update", testHistoryChain},
		{"history of a merge", testHistoryMerge},
		{"pages are ordered and complete", testPages},
		{"pages of entries recorded at one time", testPagesSameTime},
		{"pages by state", testPagesByStatus}, {"pages by source", testPagesBySource},
		{"pages by tier", testPagesByTier},
		{"pages are stable under writes", testPagesStable},
		{"malformed tokens and limits are terminal", testBadPages},
		{"a cancelled call says so", testCancelled},
	}
}

func testReadYourWrites(t *testing.T, b bank.Bank) {
	scope := newScope()
	for n := range 30 {
		m := entry(scope, n, content(n))
		write(t, b, scope, put(m))
		if got := search(t, b, scope, bank.Query{Text: content(n), K: bank.MaxK}); !slices.Contains(foundIDs(got), m.ID) {
			t.Fatalf("entry %d is not found by text", n)
		}
		if got := search(t, b, scope, bank.Query{Vector: axis(n), Alpha: 1, K: bank.MaxK}); !slices.Contains(foundIDs(got),
			m.ID) {
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
		write(t, b, scope, memory.Write{
			Put: []memory.Memory{next}, Close: []memory.Closing{closing(before, memory.StatusSuperseded, next.RecordedAt)},
		})
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
	// Versions of one write share their time, so the version determines their order.
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

// Entries are found by their source turns, a page at a time, and by exactly these ids.
func testPagesBySource(t *testing.T, b bank.Bank) {
	scope := newScope()
	var entries, want []memory.Memory
	for n := range 12 {
		m := entry(scope, n, content(n))
		m.Sources = []string{fmt.Sprintf("turn %d", n)}
		if n%3 == 0 {
			m.Sources = append(m.Sources, "shared turn")
			want = append(want, m)
		}
		entries = append(entries, m)
	}
	write(t, b, scope, put(entries...))
	for _, limit := range []int{0, 1, 3} {
		wantIDs(t, "of one turn", ids(listAll(t, b, scope, bank.ListOptions{Sources: []string{"shared turn"}, Limit: limit})),
			ids(want))
	}
	either := []string{"turn 1", "turn 2", "turn 99"}
	wantIDs(t, "of either turn", ids(listAll(t, b, scope, bank.ListOptions{Sources: either})), ids(entries[1:3]))
	wantIDs(t, "of another id", ids(listAll(t, b, scope, bank.ListOptions{Sources: []string{"turn 1 ", "TURN 2"}})), nil)
}

func testPagesByStatus(t *testing.T, b bank.Bank) {
	scope := newScope()
	of := map[memory.Status][]string{}
	states := append(memory.Recallable(), memory.StatusQuarantined)
	for n := range 40 {
		m := entry(scope, n, content(n))
		m.Status = states[n%4]
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

func testPagesByTier(t *testing.T, b bank.Bank) {
	scope := newScope()
	of := map[memory.Tier][]string{}
	for n := range 20 {
		m := entry(scope, n, content(n))
		if n%3 == 0 {
			m = talk(m)
		}
		of[m.Tier] = append(of[m.Tier], m.ID)
		write(t, b, scope, put(m))
	}
	for tier, want := range of {
		got := listAll(t, b, scope, bank.ListOptions{Tiers: []memory.Tier{tier}, Limit: 3})
		wantIDs(t, fmt.Sprintf("tier %q", tier), ids(got), want)
		for _, m := range got {
			if m.Tier != tier {
				t.Errorf("entry %s has the tier %q, want %q", m.ID, m.Tier, tier)
			}
		}
	}
	for _, tiers := range [][]memory.Tier{nil, {memory.TierMemory, memory.TierTalk}} {
		if got := listAll(t, b, scope, bank.ListOptions{Tiers: tiers}); len(got) != 20 {
			t.Errorf("tiers %q: got %d entries, want 20", tiers, len(got))
		}
	}
	found := search(t, b, scope, bank.Query{Text: content(3), K: bank.MaxK})
	if !slices.Contains(foundIDs(found), of[memory.TierTalk][1]) {
		t.Error("talk is not found by its text")
	}
	chosen := bank.ListOptions{
		Tiers: []memory.Tier{memory.TierTalk}, Statuses: []memory.Status{memory.StatusRetracted}, Filter: parse(t,
			`{"field":"kind","equals":"fact"}`),
	}
	wantIDs(t, "retracted talk", ids(listAll(t, b, scope, chosen)), nil)
	last := of[memory.TierTalk][6]
	write(t, b, scope, memory.Write{Close: []memory.Closing{{ID: last, Status: memory.StatusRetracted, ValidTo: epoch,
		OperationID: "op"}}})
	wantIDs(t, "retracted talk", ids(listAll(t, b, scope, chosen)), []string{last})
	bad := entry(scope, 30, content(30))
	bad.Tier = "memories"
	if err := b.Write(t.Context(), scope, put(bad)); !fault.IsTerminal(err) {
		t.Errorf("an unknown tier: got %v, want a terminal error", err)
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

func testCancelled(t *testing.T, b bank.Bank) {
	scope := newScope()
	fill(t, b, scope)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Search(ctx, scope, bank.Query{Text: "Ana"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Search: got %v, want %v", err, context.Canceled)
	}
	if err := b.Write(ctx, scope, put(entry(scope, 2, "Ana runs"))); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: got %v, want %v", err, context.Canceled)
	}
}
