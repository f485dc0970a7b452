package banktest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func eraseCases() []testCase {
	return []testCase{
		{"erase leaves nothing of the user by any method", eraseLeavesNothing},
		{"erase leaves other users and tenants alone", eraseLeavesOthers},
		{"erase of nobody is no error", eraseNobody},
		{"an erased user starts anew", eraseStartsAnew},
		{"old talk alone is erased", eraseOldTalk},
		{"count and erase go beyond a page", eraseMany},
		{"turns and sessions are listed in pages, each once", listedInPages},
		{"list gives vectors when asked", listVectors},
	}
}

// life writes with every method: a superseded entry and its successor, turns, a session, a core block and a dropped
// turn.
func life(t *testing.T, b bank.Bank, scope memory.Scope) (old, now memory.Memory) {
	t.Helper()
	old = entry(scope, 1, content(1))
	now = successor(scope, 2, content(2), old)
	write(t, b, scope, memory.Write{
		Put: []memory.Memory{old}, Turns: []memory.Turn{turnOf("turn 1"), turnOf("turn 2")},
		Session: &memory.SessionRecord{SessionID: "session", FormedAt: epoch, Turns: 2, Operations: 1},
		Core:    &memory.Core{Content: "Ana owns bicycles.", Version: 1, UpdatedAt: epoch},
	})
	write(t, b, scope, memory.Write{Put: []memory.Memory{now},
		Close: []memory.Closing{closing(old, memory.StatusSuperseded, epoch)}})
	writeDropped(t, b, scope, droppedTurn("dropped", 0.25))
	return old, now
}

func eraseOldTalk(t *testing.T, b bank.Bank) {
	scope := newScope()
	other := memory.Scope{Tenant: scope.Tenant, User: "ben"}
	if err := b.EraseTalk(t.Context(), scope, epoch); err != nil {
		t.Errorf("of nobody: %v", err)
	}
	at := func(s memory.Scope, n int, validFrom time.Time) memory.Memory {
		m := entry(s, n, content(n))
		m.ValidFrom = validFrom
		return m
	}
	old := epoch.Add(-time.Nanosecond)
	closed := talk(at(scope, 2, old))
	closed.Status = memory.StatusSuperseded
	write(t, b, scope, put(at(scope, 0, old), talk(at(scope, 1, old)), closed, talk(at(scope, 3, epoch))))
	his := talk(at(other, 1, old))
	write(t, b, other, put(his))
	for range 2 {
		if err := b.EraseTalk(t.Context(), scope, epoch); err != nil {
			t.Fatalf("EraseTalk: %v", err)
		}
		want := []string{entry(scope, 0, "").ID, entry(scope, 3, "").ID}
		wantIDs(t, "left", ids(listAll(t, b, scope, bank.ListOptions{})), want)
		for _, s := range search(t, b, scope, bank.Query{Text: content(1), K: bank.MaxK, Statuses: memory.Recallable()}) {
			if !slices.Contains(want, s.Memory.ID) {
				t.Errorf("the search finds %s, which is erased", s.Memory.ID)
			}
		}
	}
	wantIDs(t, "of another user", ids(listAll(t, b, other, bank.ListOptions{})), []string{his.ID})
}

func turnOf(id string) memory.Turn {
	return memory.Turn{ID: id, SessionID: "session", Speaker: "Ana", Role: memory.RoleUser, Text: "I own bicycle " + id,
		Time: epoch}
}

func erase(t *testing.T, b bank.Bank, scope memory.Scope) {
	t.Helper()
	if err := b.Erase(t.Context(), scope); err != nil {
		t.Fatalf("Erase: %v", err)
	}
}

func wantCounts(t *testing.T, b bank.Bank, scope memory.Scope, want bank.Counts) {
	t.Helper()
	got, err := b.Count(t.Context(), scope)
	if err != nil || got != want {
		t.Errorf("Count: got %+v, %v, want %+v", got, err, want)
	}
}

// seen returns the results of every read method for a user.
func seen(t *testing.T, b bank.Bank, scope memory.Scope, m memory.Memory) []string {
	t.Helper()
	var out []string
	for _, m := range listAll(t, b, scope, bank.ListOptions{}) {
		out = append(out, "list "+m.ID)
	}
	statuses := []memory.Status{memory.StatusActive, memory.StatusSuperseded}
	for _, s := range search(t, b, scope, bank.Query{Text: m.Content, Vector: m.Vector, Alpha: 0.5, Statuses: statuses}) {
		out = append(out, "search "+s.Memory.ID)
	}
	if _, err := b.Get(t.Context(), scope, m.ID); err == nil {
		out = append(out, "get "+m.ID)
	}
	if _, err := b.History(t.Context(), scope, m.ID); err == nil {
		out = append(out, "history "+m.ID)
	}
	turns, err := b.Turns(t.Context(), scope, []string{"turn 1", "turn 2"})
	for _, turn := range turns {
		out = append(out, turn.ID)
	}
	if _, ok, err := b.Session(t.Context(), scope, "session"); ok || err != nil {
		out = append(out, fmt.Sprint("session ", err))
	}
	if core, err2 := b.Core(t.Context(), scope); core.Version > 0 || err2 != nil || err != nil {
		out = append(out, fmt.Sprint("core ", err, err2))
	}
	dropped, err := b.Dropped(t.Context(), scope, []string{"dropped"})
	for _, d := range dropped {
		out = append(out, "dropped "+d.TurnID)
	}
	if err != nil {
		out = append(out, fmt.Sprint("dropped ", err))
	}
	return out
}

func eraseLeavesNothing(t *testing.T, b bank.Bank) {
	scope := newScope()
	_, now := life(t, b, scope)
	wantCounts(t, b, scope, bank.Counts{Memories: 2, Turns: 2, Sessions: 1, Core: 1, Dropped: 1})
	if got := seen(t, b, scope, now); len(got) < 9 {
		t.Fatalf("before the erasure the methods show only %v", got)
	}
	for range 2 { // idempotent
		erase(t, b, scope)
		wantCounts(t, b, scope, bank.Counts{})
		if got := seen(t, b, scope, now); len(got) > 0 {
			t.Errorf("the methods still show %v", got)
		}
	}
	if user, err := b.Owner(t.Context(), scope.Tenant, now.ID); err == nil {
		t.Errorf("the entry still belongs to %q", user)
	}
}

func eraseLeavesOthers(t *testing.T, b bank.Bank) {
	ana := newScope()
	others := []memory.Scope{
		{Tenant: ana.Tenant, User: "ana "}, {Tenant: ana.Tenant, User: "Ana"}, {Tenant: ana.Tenant, User: "an"},
		{Tenant: newScope().Tenant, User: ana.User},
	}
	life(t, b, ana)
	before := make([][]string, len(others))
	for i, other := range others {
		_, now := life(t, b, other)
		before[i] = seen(t, b, other, now)
	}
	erase(t, b, ana)
	for i, other := range others {
		wantCounts(t, b, other, bank.Counts{Memories: 2, Turns: 2, Sessions: 1, Core: 1, Dropped: 1})
		if got := seen(t, b, other, entry(other, 2, content(2))); !slices.Equal(sorted(got), sorted(before[i])) {
			t.Errorf("%q: the methods show %v, before they showed %v", other.User, got, before[i])
		}
	}
}

func sorted(in []string) []string { return slices.Sorted(slices.Values(in)) }

func eraseNobody(t *testing.T, b bank.Bank) {
	scope := newScope()
	erase(t, b, scope)
	wantCounts(t, b, scope, bank.Counts{})
	life(t, b, scope)
	erase(t, b, memory.Scope{Tenant: scope.Tenant, User: "nobody"})
	wantCounts(t, b, scope, bank.Counts{Memories: 2, Turns: 2, Sessions: 1, Core: 1, Dropped: 1})
	for _, bad := range []memory.Scope{{Tenant: "", User: "ana"}, {Tenant: scope.Tenant, User: ""}} {
		if err := b.Erase(t.Context(), bad); err == nil {
			t.Errorf("erased %+v", bad)
		}
	}
}

// A write after an erasure creates a new entry, even with an id that existed before.
func eraseStartsAnew(t *testing.T, b bank.Bank) {
	scope := newScope()
	old, _ := life(t, b, scope)
	erase(t, b, scope)
	write(t, b, scope, put(old))
	if got := get(t, b, scope, old.ID); got.Status != memory.StatusActive || got.Content != old.Content {
		t.Errorf("got %+v, want the entry active as it was written", got)
	}
	wantCounts(t, b, scope, bank.Counts{Memories: 1})
}

func eraseMany(t *testing.T, b bank.Bank) {
	const many = 250
	scope := newScope()
	var w memory.Write
	for n := range many {
		w.Put = append(w.Put, entry(scope, n, content(n)))
		w.Turns = append(w.Turns, turnOf(fmt.Sprint("turn ", n)))
	}
	write(t, b, scope, w)
	wantCounts(t, b, scope, bank.Counts{Memories: many, Turns: many})
	erase(t, b, scope)
	wantCounts(t, b, scope, bank.Counts{})
}

func listedInPages(t *testing.T, b bank.Bank) {
	scope, other := newScope(), newScope()
	life(t, b, memory.Scope{Tenant: scope.Tenant, User: "other"})
	life(t, b, other)
	var want []string
	for n := range 7 {
		id := fmt.Sprint("turn ", n)
		want = append(want, id)
		write(t, b, scope, memory.Write{
			Turns: []memory.Turn{turnOf(id)}, Session: &memory.SessionRecord{SessionID: id, FormedAt: epoch, Turns: n,
				Closed: n%2 == 0},
		})
	}
	for _, limit := range []int{0, 1, 3, 7} {
		var turns, sessions []string
		for token := ""; ; {
			page, err := b.ListTurns(t.Context(), scope, bank.PageOptions{Limit: limit, Token: token})
			if err != nil || (limit > 0 && len(page.Turns) > limit) {
				t.Fatalf("ListTurns: %d turns, %v", len(page.Turns), err)
			}
			for _, turn := range page.Turns {
				if !reflect.DeepEqual(turn, turnOf(turn.ID)) {
					t.Errorf("got %+v, want it as it was written", turn)
				}
				turns = append(turns, turn.ID)
			}
			if token = page.Next; token == "" {
				break
			}
		}
		for token := ""; ; {
			page, err := b.ListSessions(t.Context(), scope, bank.PageOptions{Limit: limit, Token: token})
			if err != nil {
				t.Fatalf("ListSessions: %v", err)
			}
			for _, r := range page.Sessions {
				want := memory.SessionRecord{
					SessionID: r.SessionID, FormedAt: epoch, Turns: int(r.SessionID[5] - '0'),
					Closed: strings.ContainsAny(r.SessionID, "0246"),
				}
				if r != want {
					t.Errorf("got %+v, want %+v", r, want)
				}
				sessions = append(sessions, r.SessionID)
			}
			if token = page.Next; token == "" {
				break
			}
		}
		wantIDs(t, fmt.Sprint("turns by ", limit), sorted(turns), want)
		wantIDs(t, fmt.Sprint("sessions by ", limit), sorted(sessions), want)
	}
	if _, err := b.ListTurns(t.Context(), scope, bank.PageOptions{Limit: bank.MaxLimit + 1}); err == nil {
		t.Error("a page that is too large was given")
	}
}

func listVectors(t *testing.T, b bank.Bank) {
	scope := newScope()
	write(t, b, scope, put(entry(scope, 1, content(1)), entry(scope, 2, content(2)), entry(scope, 3, content(3))))
	for _, m := range listAll(t, b, scope, bank.ListOptions{Limit: 2}) {
		if m.Vector != nil {
			t.Errorf("%s has a vector that nobody asked for", m.ID)
		}
	}
	got := listAll(t, b, scope, bank.ListOptions{Limit: 2, WithVectors: true})
	if len(got) != 3 {
		t.Fatalf("%d entries", len(got))
	}
	for i, m := range got {
		if !slices.Equal(m.Vector, axis(i+1)) {
			t.Errorf("entry %d has vector %v, want %v", i, m.Vector, axis(i+1))
		}
	}
}
