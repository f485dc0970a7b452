package banktest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func droppedCases() []testCase {
	return []testCase{
		{"decisions on dropped turns are read back by turn", droppedRoundTrip},
		{"of several decisions on a turn the last one stays", droppedAgain},
		{"decisions on dropped turns are the user's own", foreignDropped},
		{"decisions on dropped turns can be erased alone", droppedErased},
		{"decisions that are none are refused", droppedRefused},
		{"decisions go beyond a page", droppedMany},
		{"decisions are not exported and do not hinder an import", droppedNotExported},
	}
}

func droppedTurn(id string, score float64) memory.Dropped {
	return memory.Dropped{TurnID: id, SessionID: "session", Time: epoch, Score: score, Threshold: 0.35,
		PolicyVersion: "test/1",
		DecidedAt:     epoch.Add(time.Millisecond)}
}

func writeDropped(t *testing.T, b bank.Bank, scope memory.Scope, dropped ...memory.Dropped) {
	t.Helper()
	if err := b.WriteDropped(t.Context(), scope, dropped); err != nil {
		t.Fatalf("WriteDropped: %v", err)
	}
}

// wantDropped reads decisions by turn and compares them by turn.
func wantDropped(t *testing.T, b bank.Bank, scope memory.Scope, turnIDs []string, want ...memory.Dropped) {
	t.Helper()
	got, err := b.Dropped(t.Context(), scope, turnIDs)
	if err != nil || len(got) != len(want) {
		t.Fatalf("Dropped: got %+v, %v, want %+v", got, err, want)
	}
	by := map[string]memory.Dropped{}
	for _, d := range got {
		by[d.TurnID] = d
	}
	for _, w := range want {
		if by[w.TurnID] != w {
			t.Errorf("Dropped: got %+v, want %+v", by[w.TurnID], w)
		}
	}
}

func droppedRoundTrip(t *testing.T, b bank.Bank) {
	scope := newScope()
	wantDropped(t, b, scope, []string{"d1"})
	writeDropped(t, b, scope)
	d1, d2, d3 := droppedTurn("d1", 0.1234567890123), droppedTurn("d2", 0), droppedTurn("d3 ", 1)
	writeDropped(t, b, scope, d1, d2, d3)
	wantDropped(t, b, scope, nil)
	wantDropped(t, b, scope, []string{"d2", "none", "d1", "d2"}, d1, d2)
	wantDropped(t, b, scope, []string{"d3 "}, d3)
	wantDropped(t, b, scope, []string{"d3"})
	// A decision is neither a turn nor an entry.
	if turns, err := b.Turns(t.Context(), scope, []string{"d1"}); err != nil || len(turns) > 0 {
		t.Errorf("Turns: got %+v, %v", turns, err)
	}
	wantCounts(t, b, scope, bank.Counts{Dropped: 3})
}

func droppedAgain(t *testing.T, b bank.Bank) {
	scope := newScope()
	writeDropped(t, b, scope, droppedTurn("d", 0.1), droppedTurn("e", 0.5), droppedTurn("d", 0.2))
	wantDropped(t, b, scope, []string{"d"}, droppedTurn("d", 0.2))
	for range 2 {
		writeDropped(t, b, scope, droppedTurn("d", 0.3))
		wantDropped(t, b, scope, []string{"d", "e"}, droppedTurn("d", 0.3), droppedTurn("e", 0.5))
	}
	wantCounts(t, b, scope, bank.Counts{Dropped: 2})
}

func foreignDropped(t *testing.T, b bank.Bank) {
	ana := newScope()
	d := droppedTurn("d", 0.1)
	writeDropped(t, b, ana, d)
	for _, other := range []memory.Scope{
		{Tenant: ana.Tenant, User: "ben"}, {Tenant: ana.Tenant, User: "ana "}, {Tenant: newScope().Tenant, User: ana.User},
	} {
		wantDropped(t, b, other, []string{"d"})
		wantCounts(t, b, other, bank.Counts{})
		theirs := droppedTurn("d", 0.9)
		writeDropped(t, b, other, theirs)
		wantDropped(t, b, other, []string{"d"}, theirs)
		if err := b.EraseDropped(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		wantDropped(t, b, other, []string{"d"})
	}
	wantDropped(t, b, ana, []string{"d"}, d)
}

func droppedErased(t *testing.T, b bank.Bank) {
	scope := newScope()
	if err := b.EraseDropped(t.Context(), scope); err != nil {
		t.Fatalf("EraseDropped of nobody: %v", err)
	}
	life(t, b, scope)
	for range 2 {
		if err := b.EraseDropped(t.Context(), scope); err != nil {
			t.Fatalf("EraseDropped: %v", err)
		}
		wantDropped(t, b, scope, []string{"dropped"})
		wantCounts(t, b, scope, bank.Counts{Memories: 2, Turns: 2, Sessions: 1, Core: 1})
	}
	writeDropped(t, b, scope, droppedTurn("dropped", 0.5))
	wantDropped(t, b, scope, []string{"dropped"}, droppedTurn("dropped", 0.5))
}

func droppedRefused(t *testing.T, b bank.Bank) {
	scope := newScope()
	nan, infinite := droppedTurn("d", math.NaN()), droppedTurn("d", 0.5)
	infinite.Threshold = math.Inf(1)
	for _, bad := range []memory.Dropped{{}, nan, infinite} {
		if err := b.WriteDropped(t.Context(), scope,
			[]memory.Dropped{droppedTurn("good", 0.5), bad}); !fault.IsTerminal(err) {
			t.Errorf("%+v: got %v, want a terminal error", bad, err)
		}
	}
	wantCounts(t, b, scope, bank.Counts{})
}

func droppedMany(t *testing.T, b bank.Bank) {
	const many = 650
	scope := newScope()
	all, names := make([]memory.Dropped, many), make([]string, many)
	for n := range many {
		names[n] = fmt.Sprint("turn ", n)
		all[n] = droppedTurn(names[n], float64(n)/many)
	}
	writeDropped(t, b, scope, all...)
	wantDropped(t, b, scope, names, all...)
	wantCounts(t, b, scope, bank.Counts{Dropped: many})
	erase(t, b, scope)
	wantCounts(t, b, scope, bank.Counts{})
}

func droppedNotExported(t *testing.T, b bank.Bank) {
	from, to := newScope(), newScope()
	fillAll(t, b, from)
	with := export(t, b, from)
	if err := b.EraseDropped(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	if without := export(t, b, from); string(with) != string(without) {
		t.Errorf("the export tells of dropped turns:\n%s", firstDifference(with, without))
	}
	writeDropped(t, b, to, droppedTurn("own", 0.1))
	if err := importAll(t.Context(), b, to, axes{model}, with); err != nil {
		t.Fatalf("import: %v", err)
	}
	wantDropped(t, b, to, []string{"own"}, droppedTurn("own", 0.1))
}
