package banktest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// isolationCases test the isolation of users' data, evidence included.
func isolationCases() []testCase {
	return []testCase{
		{"nobody has written: everything is empty", testEmpty},
		{"every method is closed to other users", testUsersIsolated},
		{"every method is closed to other tenants", testTenantsIsolated},
		{"two users may have the same ids", testSameIDs},
		{"awkward user ids are users of their own", testUserIDs},
		{"many users at once", testManyUsers},
		{"the owner of an entry is found within the tenant", testOwner},
		{"memories are counted within the tenant", testCountMemories},
		{"invalid scopes are refused", testScopes},
		{"turns and sessions come back", testEvidence},
		{"a session record is replaced", testSessionReplaced},
		{"an older session record is passed over", testSessionOlder},
	}
}

func testEmpty(t *testing.T, b bank.Bank) {
	nobody := newScope()
	wantNothing(t, b, nobody, memory.DeriveID(nobody, nil, 0))
	// An existing tenant, and a user that does not exist.
	write(t, b, nobody, put(entry(nobody, 1, "Ana swims")))
	other := memory.Scope{Tenant: nobody.Tenant, User: "ben"}
	wantNothing(t, b, other, memory.DeriveID(other, nil, 0))
}

// wantNothing checks with every method that a scope is empty.
func wantNothing(t *testing.T, b bank.Bank, scope memory.Scope, id string) {
	t.Helper()
	ctx := t.Context()
	if _, err := b.Get(ctx, scope, id); !errors.Is(err, bank.ErrNotFound) {
		t.Errorf("Get: got %v, want %v", err, bank.ErrNotFound)
	}
	if _, err := b.History(ctx, scope, id); !errors.Is(err, bank.ErrNotFound) {
		t.Errorf("History: got %v, want %v", err, bank.ErrNotFound)
	}
	if got := listAll(t, b, scope, bank.ListOptions{}); len(got) != 0 {
		t.Errorf("List: got %d entries", len(got))
	}
	states := append(memory.Recallable(), memory.StatusQuarantined)
	for name, q := range map[string]bank.Query{
		"text": {Text: "Ana"}, "vector": {Vector: axis(1), Alpha: 1}, "both": {Text: "Ana", Vector: axis(1), Alpha: 0.5},
	} {
		q.Statuses = states
		if got := search(t, b, scope, q); len(got) != 0 {
			t.Errorf("Search by %s: got %d entries", name, len(got))
		}
	}
	if got, err := b.Turns(ctx, scope, []string{"t1", "t2"}); err != nil || len(got) != 0 {
		t.Errorf("Turns: got %d, %v", len(got), err)
	}
	if _, ok, err := b.Session(ctx, scope, "session"); err != nil || ok {
		t.Errorf("Session: got %t, %v", ok, err)
	}
}

// fill writes to a scope with every method and returns its entry.
func fill(t *testing.T, b bank.Bank, scope memory.Scope) memory.Memory {
	t.Helper()
	m := entry(scope, 1, "Ana swims for "+scope.User)
	write(t, b, scope, memory.Write{
		Put: []memory.Memory{m}, Turns: []memory.Turn{turn("t1")},
		Session: &memory.SessionRecord{SessionID: "session", FormedAt: epoch, Turns: 1},
	})
	return m
}

func testUsersIsolated(t *testing.T, b bank.Bank) {
	ana := newScope()
	testIsolated(t, b, ana, memory.Scope{Tenant: ana.Tenant, User: "ben"})
}

func testTenantsIsolated(t *testing.T, b bank.Bank) {
	ana := newScope()
	testIsolated(t, b, ana, memory.Scope{Tenant: newScope().Tenant, User: ana.User})
}

func testIsolated(t *testing.T, b bank.Bank, ana, other memory.Scope) {
	m := fill(t, b, ana)
	wantNothing(t, b, other, m.ID)
	// A user who knows the id of another user's entry cannot close or continue it.
	err := b.Write(t.Context(), other, memory.Write{Close: []memory.Closing{closing(m, memory.StatusRetracted, epoch)}})
	if !errors.Is(err, bank.ErrNotFound) {
		t.Errorf("closing another's entry: got %v, want %v", err, bank.ErrNotFound)
	}
	thief := successor(other, 2, "a successor of another's entry", m)
	write(t, b, other, put(thief))
	versions, err := b.History(t.Context(), other, thief.ID)
	if err != nil {
		t.Fatalf("History: %v", err)
	}
	wantIDs(t, "history", ids(versions), []string{thief.ID})
	versions, err = b.History(t.Context(), ana, m.ID)
	if err != nil {
		t.Fatalf("History: %v", err)
	}
	wantIDs(t, "the other's history", ids(versions), []string{m.ID})
	if got := get(t, b, ana, m.ID); got.Status != memory.StatusActive {
		t.Errorf("the entry is %s, want active", got.Status)
	}
}

func testSameIDs(t *testing.T, b bank.Bank) {
	ana := newScope()
	ben := memory.Scope{Tenant: ana.Tenant, User: "ben"}
	m := entry(ana, 1, "Ana swims")
	write(t, b, ana, memory.Write{Put: []memory.Memory{m}, Turns: []memory.Turn{turn("t1")}})
	his := m
	his.Content = "Ben runs"
	spoken := turn("t1")
	spoken.Text = "I run"
	write(t, b, ben, memory.Write{Put: []memory.Memory{his}, Turns: []memory.Turn{spoken}})
	if a, z := get(t, b, ana, m.ID).Content, get(t, b, ben, m.ID).Content; a != "Ana swims" || z != "Ben runs" {
		t.Errorf("got %q and %q", a, z)
	}
	turns, err := b.Turns(t.Context(), ana, []string{"t1"})
	if err != nil || len(turns) != 1 || turns[0].Text != turn("t1").Text {
		t.Errorf("Turns: got %+v, %v", turns, err)
	}
}

func testUserIDs(t *testing.T, b bank.Bank) {
	users := []string{
		"a", "a ", " a", "A", "á", "a\t", `"a"`, `a" OR "1`, `a\`, "a/b", "a*", "a?", "*", "?", "%", "a b", "a,b", "{a}",
		"'a'", "the", "日本", "🚲", "a@example.com", "a\nb", strings.Repeat("u", memory.MaxUserBytes),
		strings.Repeat("🚲", memory.MaxUserBytes/4),
	}
	tenant := newScope().Tenant
	tenant += strings.Repeat("-", 60-len(tenant)) + "end" // the maximum length
	want := map[string]string{}
	for _, u := range users {
		want[u] = fill(t, b, memory.Scope{Tenant: tenant, User: u}).ID
	}
	for _, u := range users {
		scope := memory.Scope{Tenant: tenant, User: u}
		wantIDs(t, fmt.Sprintf("entries of %q", u), ids(listAll(t, b, scope, bank.ListOptions{})), []string{want[u]})
		wantIDs(t, fmt.Sprintf("found for %q", u), foundIDs(search(t, b, scope, bank.Query{Text: "Ana swims"})),
			[]string{want[u]})
	}
}

func testManyUsers(t *testing.T, b bank.Bank) {
	const tenants, users, entries = 3, 8, 3
	var scopes []memory.Scope
	for range tenants {
		tenant := newScope().Tenant
		for u := range users {
			scopes = append(scopes, memory.Scope{Tenant: tenant, User: fmt.Sprintf("user-%d", u)})
		}
	}
	group, ctx := errgroup.WithContext(t.Context())
	for _, scope := range scopes {
		group.Go(func() error {
			for n := range entries {
				if err := b.Write(ctx, scope, put(entry(scope, n, content(n)))); err != nil {
					return err
				}
				found, err := b.Search(ctx, scope, bank.Query{Text: "bicycle", Vector: axis(n), Alpha: 0.5})
				if err != nil {
					return err
				}
				if len(found) != n+1 {
					return fmt.Errorf("%s: found %d entries after %d writes", scope.Key(), len(found), n+1)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, scope := range scopes {
		var want []string
		for n := range entries {
			want = append(want, entry(scope, n, "").ID)
		}
		wantIDs(t, scope.Key(), ids(listAll(t, b, scope, bank.ListOptions{})), want)
	}
}

func testScopes(t *testing.T, b bank.Bank) {
	for _, scope := range []memory.Scope{
		{}, {Tenant: "t"}, {User: "ana"}, {Tenant: "A", User: "ana"}, {Tenant: "a/b", User: "ana"},
		{Tenant: "t", User: " "}, {Tenant: "t", User: "\xff"},
		{Tenant: "t", User: strings.Repeat("u", memory.MaxUserBytes+1)},
	} {
		for method, err := range everyMethod(t, b, scope) {
			if !fault.IsTerminal(err) {
				t.Errorf("%s of %q: got %v, want a terminal error", method, scope, err)
			}
		}
	}
}

// everyMethod calls every method with a scope and returns the errors.
func everyMethod(t *testing.T, b bank.Bank, scope memory.Scope) map[string]error {
	ctx := t.Context()
	out := map[string]error{"write": b.Write(ctx, scope, memory.Write{})}
	_, out["get"] = b.Get(ctx, scope, "id")
	_, out["list"] = b.List(ctx, scope, bank.ListOptions{})
	_, out["history"] = b.History(ctx, scope, "id")
	_, out["search"] = b.Search(ctx, scope, bank.Query{Text: "x"})
	_, out["empty search"] = b.Search(ctx, scope, bank.Query{})
	_, out["turns"] = b.Turns(ctx, scope, nil)
	_, _, out["session"] = b.Session(ctx, scope, "session")
	_, out["dropped"] = b.Dropped(ctx, scope, nil)
	out["write dropped"], out["erase dropped"] = b.WriteDropped(ctx, scope, nil), b.EraseDropped(ctx, scope)
	out["erase talk"] = b.EraseTalk(ctx, scope, epoch)
	return out
}

func testEvidence(t *testing.T, b bank.Bank) {
	scope := newScope()
	var turns []memory.Turn
	var want []string
	for n := range 250 {
		turns = append(turns, turn(fmt.Sprintf("t%03d *?/\"", n)))
		want = append(want, turns[n].ID)
	}
	record := memory.SessionRecord{SessionID: "s/1 \"*", FormedAt: epoch, Turns: 250, Operations: 3, Closed: true}
	write(t, b, scope, memory.Write{Turns: turns, Session: &record})
	got, err := b.Turns(t.Context(), scope, append([]string{"none", want[0]}, want...))
	if err != nil {
		t.Fatalf("Turns: %v", err)
	}
	slices.SortFunc(got, func(a, z memory.Turn) int { return strings.Compare(a.ID, z.ID) })
	if !reflect.DeepEqual(got, turns) {
		t.Errorf("got %d turns, want %d as they were written", len(got), len(turns))
	}
	if got, ok, err := b.Session(t.Context(), scope, record.SessionID); err != nil || !ok || got != record {
		t.Errorf("Session: got %+v, %t, %v", got, ok, err)
	}
}

func testSessionReplaced(t *testing.T, b bank.Bank) {
	scope := newScope()
	for n := range 2 {
		record := memory.SessionRecord{SessionID: "s", FormedAt: epoch, Turns: n, Operations: n}
		write(t, b, scope, memory.Write{Session: &record})
		if got, ok, err := b.Session(t.Context(), scope, "s"); err != nil || !ok || got != record {
			t.Errorf("Session: got %+v, %t, %v, want %+v", got, ok, err, record)
		}
	}
}

func testSessionOlder(t *testing.T, b bank.Bank) {
	scope := newScope()
	early := memory.SessionRecord{SessionID: "s", FormedAt: epoch, Turns: 1}
	late := memory.SessionRecord{SessionID: "s", FormedAt: epoch.Add(time.Nanosecond), Turns: 2, Operations: 1,
		Closed: true}
	for _, r := range []memory.SessionRecord{early, late, early} {
		write(t, b, scope, memory.Write{Session: &r})
	}
	if got, ok, err := b.Session(t.Context(), scope, "s"); err != nil || !ok || got != late {
		t.Errorf("Session: got %+v, %t, %v, want %+v", got, ok, err, late)
	}
}

func turn(id string) memory.Turn {
	return memory.Turn{
		ID: id, SessionID: "session", Speaker: "Ana", Role: memory.RoleUser, Text: "I \"swim\"\n a lot 🚲", Caption: "a photo",
		Time: epoch,
		Saliency: memory.SaliencyDecision{
			Score: 0.125, Threshold: 0.25, PolicyVersion: "filter/1", Mode: memory.SaliencyMark,
			DecidedAt: epoch.Truncate(time.Millisecond),
		},
		Attributes: attributes(),
	}
}
