package banktest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// writeCases test writes, single and repeated.
func writeCases() []testCase {
	return []testCase{
		{"an entry comes back with all its properties", testRoundTrip},
		{"an entry with nothing optional comes back", testSparse},
		{"an existing entry is left as it is", testCreateOnly},
		{"closings end validity once", testClosings},
		{"a quarantined entry is found by nobody until it is released", testRelease},
		{"a quarantined entry can be removed", testRemoval},
		{"a late duplicate brings nothing back", testZombie},
		{"a closing without a target is refused whole", testMissingTarget},
		{"malformed writes are terminal", testMalformedWrites},
		{"repeating writes changes nothing", testIdempotent},
	}
}

func testRoundTrip(t *testing.T, b bank.Bank) {
	scope := newScope()
	m := entry(scope, 1, "Ana said \"so\\so\" on São Tomé\n\tin 日本 🚲 {a: 1}")
	m.Topic, m.Slot, m.Keywords = "travel", "ana/home", []string{"São Tomé", "quote \" and \\"}
	m.EventTime = memory.EventTime{
		Time: time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionYear, Expression: "when I was born",
	}
	m.Predecessors, m.Sources, m.Version = []string{"p1", "p2"}, []string{"t1", "t2 *?", "t/3"}, 7
	m.Quarantine = "order"
	m.TraceID, m.SpanID = strings.Repeat("a", 32), strings.Repeat("b", 16)
	m.Status, m.ValidTo = memory.StatusSuperseded, epoch.Add(time.Hour)
	write(t, b, scope, put(m))
	m.Vector = nil
	if got := get(t, b, scope, m.ID); !reflect.DeepEqual(got, m) {
		t.Errorf("got  %+v\nwant %+v", got, m)
	}
}

func testSparse(t *testing.T, b bank.Bank) {
	scope := newScope()
	m := memory.Memory{ID: memory.DeriveID(scope, nil, 0), Content: "x", RecordedAt: epoch, Status: memory.StatusActive,
		Vector: axis(0)}
	write(t, b, scope, put(m))
	m.Vector = nil
	if got := get(t, b, scope, m.ID); !reflect.DeepEqual(got, m) {
		t.Errorf("got  %+v\nwant %+v", got, m)
	}
}

func testCreateOnly(t *testing.T, b bank.Bank) {
	scope := newScope()
	m := entry(scope, 1, "Ana lives in Lisbon")
	write(t, b, scope, put(m))
	other := m
	other.Content, other.Version = "Ana lives in Porto", 9
	write(t, b, scope, put(other, entry(scope, 2, "Ana swims")))
	if got := get(t, b, scope, m.ID); got.Content != m.Content || got.Version != m.Version {
		t.Errorf("the entry became %q, version %d", got.Content, got.Version)
	}
	if got := listAll(t, b, scope, bank.ListOptions{}); len(got) != 2 {
		t.Errorf("got %d entries, want 2", len(got))
	}
}

func testClosings(t *testing.T, b bank.Bank) {
	scope := newScope()
	m, kept := entry(scope, 1, "Ana lives in Lisbon"), entry(scope, 2, "Ana swims")
	write(t, b, scope, put(m, kept))
	at := epoch.Add(time.Hour)
	write(t, b, scope, memory.Write{Close: []memory.Closing{closing(m, memory.StatusSuperseded, at)}})
	write(t, b, scope, memory.Write{Close: []memory.Closing{closing(m, memory.StatusRetracted, at.Add(time.Hour))}})
	got := get(t, b, scope, m.ID)
	if got.Status != memory.StatusSuperseded || !got.ValidTo.Equal(at) {
		t.Errorf("the entry is %s until %s, want superseded until %s", got.Status, got.ValidTo, at)
	}
	if got.Content != m.Content || got.OperationID != m.OperationID {
		t.Errorf("closing changed more than the validity: %+v", got)
	}
	if got := get(t, b, scope, kept.ID); got.Status != memory.StatusActive || !got.ValidTo.IsZero() {
		t.Errorf("another entry is %s until %s", got.Status, got.ValidTo)
	}
	wantIDs(t, "closed entries lose nothing of search", foundIDs(search(t, b, scope, bank.Query{
		Vector: axis(1), Alpha: 1, K: 1, Statuses: []memory.Status{memory.StatusSuperseded},
	})), []string{m.ID})
}

// quarantined returns an entry in quarantine.
func quarantined(scope memory.Scope, n int, content string) memory.Memory {
	m := entry(scope, n, content)
	m.Status, m.Quarantine = memory.StatusQuarantined, "order"
	return m
}

func release(m memory.Memory, to memory.Status) memory.Write {
	return memory.Write{Release: []memory.Release{{ID: m.ID, Status: to, OperationID: "releasing"}}}
}

func testRelease(t *testing.T, b bank.Bank) {
	scope := newScope()
	m, ended := quarantined(scope, 1, "Ana plays the violin"), quarantined(scope, 2, "Ana played the violin")
	ended.ValidTo = epoch
	first := put(m, ended)
	write(t, b, scope, first)
	queries := []bank.Query{{Text: "violin"}, {Vector: axis(1), Alpha: 1}, {Text: "violin", Statuses: memory.Recallable()}}
	for _, q := range queries {
		if got := search(t, b, scope, q); len(got) != 0 {
			t.Errorf("%+v finds %d quarantined entries", q, len(got))
		}
	}
	write(t, b, scope, release(m, memory.StatusActive))
	write(t, b, scope, release(ended, memory.StatusSuperseded))
	write(t, b, scope, first) // late
	for _, q := range queries[:2] {
		wantIDs(t, "found after the release", foundIDs(search(t, b, scope, q)), []string{m.ID})
	}
	if got := get(t, b, scope, m.ID); got.Status != memory.StatusActive || got.Quarantine != "order" ||
		!got.ValidTo.IsZero() {
		t.Errorf("released it is %+v", got)
	}
	if got := get(t, b, scope, ended.ID); got.Status != memory.StatusSuperseded || !got.ValidTo.Equal(epoch) {
		t.Errorf("what had ended is released as %+v", got)
	}
}

func testRemoval(t *testing.T, b bank.Bank) {
	scope := newScope()
	m, other := quarantined(scope, 1, "Ana plays the violin"), entry(scope, 2, "Ana swims")
	write(t, b, scope, put(m, other))
	write(t, b, scope, memory.Write{Close: []memory.Closing{closing(m, memory.StatusRetracted, epoch)}})
	write(t, b, scope, release(m, memory.StatusActive))     // late
	write(t, b, scope, release(other, memory.StatusActive)) // of an entry outside quarantine
	if got := get(t, b, scope, m.ID); got.Status != memory.StatusRetracted || !got.ValidTo.Equal(epoch) {
		t.Errorf("removed it is %s until %s", got.Status, got.ValidTo)
	}
	if got := get(t, b, scope, other.ID); got.Status != memory.StatusActive {
		t.Errorf("another entry is %s", got.Status)
	}
	if err := b.Write(t.Context(), scope, release(entry(scope, 3, "nobody"),
		memory.StatusActive)); !fault.IsTerminal(err) {
		t.Errorf("releasing what is not there gives %v, want a terminal error", err)
	}
}

func testZombie(t *testing.T, b bank.Bank) {
	scope := newScope()
	first := entry(scope, 1, "Ana lives in Lisbon")
	second := successor(scope, 2, "Ana lives in Porto", first)
	old := memory.Write{Put: []memory.Memory{first}, Turns: []memory.Turn{turn("t1")}}
	write(t, b, scope, old)
	write(t, b, scope, memory.Write{Put: []memory.Memory{second},
		Close: []memory.Closing{closing(first, memory.StatusSuperseded, epoch)}})
	write(t, b, scope, old)
	if got := get(t, b, scope, first.ID); got.Status != memory.StatusSuperseded || !got.ValidTo.Equal(epoch) {
		t.Errorf("the entry is %s until %s after a late duplicate, want superseded until %s", got.Status, got.ValidTo, epoch)
	}
	active := listAll(t, b, scope, bank.ListOptions{Statuses: []memory.Status{memory.StatusActive}})
	wantIDs(t, "active", ids(active), []string{second.ID})
}

func testMissingTarget(t *testing.T, b bank.Bank) {
	scope := newScope()
	known, ghost := entry(scope, 1, "Ana swims"), entry(scope, 2, "nobody")
	write(t, b, scope, put(known))
	fresh := entry(scope, 3, "Ana runs")
	err := b.Write(t.Context(), scope, memory.Write{
		Put:   []memory.Memory{fresh},
		Close: []memory.Closing{closing(known, memory.StatusRetracted, epoch), closing(ghost, memory.StatusRetracted, epoch)},
	})
	if !fault.IsTerminal(err) || !errors.Is(err, bank.ErrNotFound) || !strings.Contains(err.Error(), ghost.ID) {
		t.Errorf("got %v, want a terminal error about %s", err, ghost.ID)
	}
	wantIDs(t, "entries", ids(listAll(t, b, scope, bank.ListOptions{})), []string{known.ID})
	if got := get(t, b, scope, known.ID); got.Status != memory.StatusActive {
		t.Errorf("the other target is %s, want active", got.Status)
	}
	write(t, b, scope, memory.Write{Put: []memory.Memory{fresh},
		Close: []memory.Closing{closing(fresh, memory.StatusRetracted, epoch)}})
	if got := get(t, b, scope, fresh.ID); got.Status != memory.StatusRetracted {
		t.Errorf("a target of the same write is %s, want retracted", got.Status)
	}
}

func testMalformedWrites(t *testing.T, b bank.Bank) {
	scope := newScope()
	good := entry(scope, 1, "Ana swims")
	change := func(f func(*memory.Memory)) memory.Write {
		m := entry(scope, 2, "Ana runs")
		f(&m)
		return put(good, m)
	}
	cases := map[string]memory.Write{
		"no vector":       change(func(m *memory.Memory) { m.Vector = nil }),
		"long vector":     change(func(m *memory.Memory) { m.Vector = make(memory.Vector, Dimension+1) }),
		"not a number":    change(func(m *memory.Memory) { m.Vector[0] = float32(math.NaN()) }),
		"no id":           change(func(m *memory.Memory) { m.ID = "" }),
		"no content":      change(func(m *memory.Memory) { m.Content = "" }),
		"broken text":     change(func(m *memory.Memory) { m.Content = "\xff" }),
		"no time":         change(func(m *memory.Memory) { m.RecordedAt = time.Time{} }),
		"unknown status":  change(func(m *memory.Memory) { m.Status = "gone" }),
		"twice":           put(good, good),
		"closing to open": {Put: []memory.Memory{good}, Close: []memory.Closing{closing(good, memory.StatusActive, epoch)}},
		"release to none": {Put: []memory.Memory{good},
			Release: []memory.Release{{ID: good.ID, Status: memory.StatusQuarantined}}},
		"turn without id": {Put: []memory.Memory{good}, Turns: []memory.Turn{{Text: "x"}}},
		"no session id":   {Put: []memory.Memory{good}, Session: &memory.SessionRecord{}},
	}
	for name, w := range cases {
		if err := b.Write(t.Context(), scope, w); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v, want a terminal error", name, err)
		}
	}
	if got := listAll(t, b, scope, bank.ListOptions{}); len(got) != 0 {
		t.Errorf("refused writes left %d entries", len(got))
	}
}

// testIdempotent compares a bank with single writes and a bank with repeated writes. Repetitions come at once, or
// late, after other writes.
func testIdempotent(t *testing.T, b bank.Bank) {
	tenant := newScope().Tenant
	rapid.Check(t, func(r *rapid.T) {
		user := rapid.StringMatching(`[a-z]{12}`).Draw(r, "user")
		once, often := memory.Scope{Tenant: tenant, User: user + "-once"}, memory.Scope{Tenant: tenant, User: user + "-often"}
		writes := drawWrites(r, once)
		for i, w := range writes {
			apply(r, b, once, w)
			apply(r, b, often, w)
			if repeat := rapid.IntRange(-1, i).Draw(r, "repeat"); repeat >= 0 {
				apply(r, b, often, writes[repeat])
			}
		}
		if a, z := state(r, b, once), state(r, b, often); !reflect.DeepEqual(a, z) {
			r.Fatalf("applied once:  %+v\napplied often: %+v", a, z)
		}
	})
}

// drawWrites draws writes in the form of Plan: each adds an entry, and some replace an active one.
func drawWrites(r *rapid.T, scope memory.Scope) []memory.Write {
	var active []memory.Memory
	writes := make([]memory.Write, rapid.IntRange(1, 6).Draw(r, "writes"))
	for n := range writes {
		fresh := entry(scope, n, content(n))
		w := &writes[n]
		w.Turns = []memory.Turn{turn(content(n))}
		if len(active) > 0 && rapid.Bool().Draw(r, "close") {
			i := rapid.IntRange(0, len(active)-1).Draw(r, "target")
			status := rapid.SampledFrom([]memory.Status{memory.StatusSuperseded, memory.StatusRetracted}).Draw(r, "status")
			w.Close = []memory.Closing{closing(active[i], status, fresh.RecordedAt)}
			fresh.Predecessors = []string{active[i].ID}
			active = slices.Delete(active, i, i+1)
		}
		w.Put = []memory.Memory{fresh}
		active = append(active, fresh)
	}
	return writes
}

func apply(r *rapid.T, b bank.Bank, scope memory.Scope, w memory.Write) {
	if err := b.Write(r.Context(), scope, w); err != nil {
		r.Fatalf("Write: %v", err)
	}
}

func state(r *rapid.T, b bank.Bank, scope memory.Scope) []memory.Memory {
	page, err := b.List(r.Context(), scope, bank.ListOptions{})
	if err != nil {
		r.Fatalf("List: %v", err)
	}
	return page.Memories
}
