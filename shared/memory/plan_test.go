package memory_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

var (
	said = time.Date(2024, 5, 6, 7, 0, 0, 0, time.UTC)
	now  = said.Add(time.Hour)
)

// fresh is a new entry as a decision makes it.
func fresh(id string) *memory.Memory {
	return &memory.Memory{ID: id, Content: "content of " + id, ValidFrom: said}
}

// stored is an entry of the bank.
func stored(id string, version int) memory.Memory {
	return memory.Memory{
		ID: id, Content: "content of " + id, Status: memory.StatusActive, Version: version, Sources: []string{"old-" + id},
		ValidFrom: said.Add(-time.Hour), RecordedAt: said.Add(-time.Hour),
	}
}

func op(kind memory.OpKind, made *memory.Memory, targets ...string) memory.Operation {
	return memory.Operation{Kind: kind, New: made, Targets: targets, Sources: []string{"t2", "t1", "t2"}}
}

func plan(t *testing.T, ops []memory.Operation, existing ...memory.Memory) memory.Write {
	t.Helper()
	w, err := memory.Plan(ana, ops, existing, now)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	return w
}

func TestPlanAdd(t *testing.T) {
	add := op(memory.OpAdd, fresh("m1"))
	w := plan(t, []memory.Operation{add})
	want := *fresh("m1")
	want.Status, want.Version, want.RecordedAt, want.Sources = memory.StatusActive, 1, now, []string{"t1", "t2"}
	want.OperationID = memory.DeriveOperationID(ana, add)
	if !reflect.DeepEqual(w, memory.Write{Put: []memory.Memory{want}}) {
		t.Errorf("got %+v\nwant only %+v", w, want)
	}
}

func TestPlanUpdate(t *testing.T) {
	update := op(memory.OpUpdate, fresh("m2"), "m1")
	w := plan(t, []memory.Operation{update}, stored("m1", 3), stored("m0", 9))
	id := memory.DeriveOperationID(ana, update)
	if len(w.Put) != 1 || w.Put[0].Version != 4 || !slices.Equal(w.Put[0].Predecessors, []string{"m1"}) ||
		w.Put[0].Status != memory.StatusActive {
		t.Errorf("put: got %+v", w.Put)
	}
	want := []memory.Closing{{ID: "m1", Status: memory.StatusSuperseded, ValidTo: said, OperationID: id}}
	if !reflect.DeepEqual(w.Close, want) {
		t.Errorf("close: got %+v, want %+v", w.Close, want)
	}
	if !slices.Equal(w.Retire, []string{"old-m1"}) {
		t.Errorf("retire: got %v, want the sources of what was closed", w.Retire)
	}
	if !slices.Equal(w.Put[0].Sources, []string{"old-m1", "t1", "t2"}) {
		t.Errorf("sources: got %v, want those of the operation and of what it updates", w.Put[0].Sources)
	}
	update.Anew = true
	if w := plan(t, []memory.Operation{update}, stored("m1", 3)); !slices.Equal(w.Put[0].Sources, []string{"t1", "t2"}) {
		t.Errorf("sources of what is told anew: got %v, want those of the operation", w.Put[0].Sources)
	}
	update.Anew, update.Rest, update.At = false, true, said.AddDate(0, 1, 0)
	w = plan(t, []memory.Operation{update}, stored("m1", 3))
	if !slices.Equal(w.Put[0].Sources, []string{"old-m1"}) || !w.Close[0].ValidTo.Equal(update.At) {
		t.Errorf("a rest: got sources %v, closed at %v; want those of what it is left of, at %v", w.Put[0].Sources,
			w.Close[0].ValidTo, update.At)
	}
}

func TestPlanMerge(t *testing.T) {
	w := plan(t, []memory.Operation{op(memory.OpMerge, fresh("m9"), "m2", "m1", "m2")}, stored("m1", 3), stored("m2", 5))
	if len(w.Put) != 1 || w.Put[0].Version != 6 || !slices.Equal(w.Put[0].Predecessors, []string{"m1", "m2"}) {
		t.Errorf("put: got %+v", w.Put)
	}
	if got := closedIDs(w); !slices.Equal(got, []string{"m1", "m2"}) {
		t.Errorf("close: got %v, want each target once", got)
	}
	if !slices.Equal(w.Retire, []string{"old-m1", "old-m2"}) {
		t.Errorf("retire: got %v", w.Retire)
	}
	if !slices.Equal(w.Put[0].Sources, []string{"old-m1", "old-m2", "t1", "t2"}) {
		t.Errorf("sources: got %v, want those of the operation and of all that it merges", w.Put[0].Sources)
	}
}

func TestPlanDelete(t *testing.T) {
	said := op(memory.OpDelete, nil, "m1")
	said.At = now.Add(-time.Hour)
	if w := plan(t, []memory.Operation{said}, stored("m1", 1)); !w.Close[0].ValidTo.Equal(said.At) {
		t.Errorf("ends at %s, want when the denial was said", w.Close[0].ValidTo)
	}
	w := plan(t, []memory.Operation{op(memory.OpDelete, nil, "m1")}, stored("m1", 1))
	if len(w.Put) != 0 || len(w.Close) != 1 || w.Close[0].Status != memory.StatusRetracted ||
		!w.Close[0].ValidTo.Equal(now) {
		t.Errorf("got %+v", w)
	}
}

func TestPlanQuarantineAndRelease(t *testing.T) {
	odd := fresh("m1")
	odd.Quarantine, odd.Tier = "order", memory.TierTalk
	w := plan(t, []memory.Operation{op(memory.OpAdd, odd)})
	if len(w.Put) != 1 || w.Put[0].Status != memory.StatusQuarantined || w.Put[0].Tier != memory.TierMemory ||
		!slices.Equal(w.Retire, []string{"t1", "t2"}) {
		t.Errorf("a quarantined entry gives %+v", w)
	}
	held, ended := stored("m1", 1), stored("m2", 1)
	held.Status, ended.Status, ended.ValidTo = memory.StatusQuarantined, memory.StatusQuarantined, now
	releasing := op(memory.OpRelease, nil, "m1", "m2")
	w = plan(t, []memory.Operation{releasing}, held, ended)
	id := memory.DeriveOperationID(ana, releasing)
	want := []memory.Release{
		{ID: "m1", Status: memory.StatusActive, OperationID: id},
		{ID: "m2", Status: memory.StatusSuperseded, OperationID: id},
	}
	if !reflect.DeepEqual(w, memory.Write{Release: want}) {
		t.Errorf("a release gives %+v, want %+v", w, want)
	}
	if got := memory.Changes(ana, []memory.Operation{releasing}, nil); len(got) != 1 || got[0].MemoryID != "m1" ||
		len(got[0].Closed) != 0 {
		t.Errorf("a release is announced as %+v", got)
	}
	w = plan(t, []memory.Operation{op(memory.OpDelete, nil, "m1")}, held)
	if len(w.Close) != 1 || w.Close[0].Status != memory.StatusRetracted {
		t.Errorf("a removal gives %+v", w)
	}
	for name, o := range map[string]memory.Operation{
		"update": op(memory.OpUpdate, fresh("m9"), "m1"), "release": op(memory.OpRelease, nil, "m3"),
	} {
		if _, err := memory.Plan(ana, []memory.Operation{o}, []memory.Memory{held, stored("m3", 1)},
			now); !fault.IsTerminal(err) {
			t.Errorf("%s of an entry in the wrong state gives %v", name, err)
		}
	}
}

func TestPlanNoneWritesNothing(t *testing.T) {
	w := plan(t, []memory.Operation{op(memory.OpNone, nil, "m1"), op(memory.OpNone, nil),
		op(memory.OpNone, nil, "unknown")}, stored("m1", 1))
	if !reflect.DeepEqual(w, memory.Write{}) {
		t.Errorf("got %+v, want nothing", w)
	}
}

// TestPlanChainsWithinOneWrite updates an entry that the same list wrote. The entry is written as closed, so no
// reader ever sees both.
func TestPlanChainsWithinOneWrite(t *testing.T) {
	w := plan(t, []memory.Operation{
		op(memory.OpAdd, fresh("m1")), op(memory.OpUpdate, fresh("m2"), "m1"), op(memory.OpDelete, nil, "m2"),
	})
	if len(w.Close) != 0 || len(w.Put) != 2 {
		t.Fatalf("got %+v", w)
	}
	first, second := w.Put[0], w.Put[1]
	if first.Status != memory.StatusSuperseded || !first.ValidTo.Equal(said) {
		t.Errorf("the first is %s until %s", first.Status, first.ValidTo)
	}
	if second.Status != memory.StatusRetracted || !second.ValidTo.Equal(now) || second.Version != 2 {
		t.Errorf("the second is %s until %s, version %d", second.Status, second.ValidTo, second.Version)
	}
	if !slices.Equal(w.Retire, []string{"t1", "t2"}) {
		t.Errorf("retire: got %v", w.Retire)
	}
}

// TestPlanNeverEndsBeforeTheBeginning supersedes with an earlier statement, as happens when sessions arrive out of
// order. Each target has a separate beginning.
func TestPlanNeverEndsBeforeTheBeginning(t *testing.T) {
	late, early := stored("m1", 1), stored("m2", 1)
	late.ValidFrom = said.Add(time.Minute)
	w := plan(t, []memory.Operation{op(memory.OpMerge, fresh("m9"), "m1", "m2")}, late, early)
	want := map[string]time.Time{"m1": late.ValidFrom, "m2": said}
	for _, c := range w.Close {
		if !c.ValidTo.Equal(want[c.ID]) {
			t.Errorf("%s ends %s, want %s", c.ID, c.ValidTo, want[c.ID])
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	superseded := stored("gone", 1)
	superseded.Status = memory.StatusSuperseded
	cases := []struct {
		name, field string
		ops         []memory.Operation
	}{
		{"unknown kind", "operation.kind", []memory.Operation{op("MOVE", fresh("n"))}},
		{"no kind", "operation.kind", []memory.Operation{op("", fresh("n"))}},
		{"no sources", "operation.sources", []memory.Operation{{Kind: memory.OpNone}}},
		{"add nothing", "operation.new", []memory.Operation{op(memory.OpAdd, nil)}},
		{"add without id", "operation.new", []memory.Operation{op(memory.OpAdd, &memory.Memory{Content: "x"})}},
		{"add without content", "operation.new", []memory.Operation{op(memory.OpAdd, &memory.Memory{ID: "n"})}},
		{"add twice", "operation.new", []memory.Operation{op(memory.OpAdd, fresh("n")), op(memory.OpAdd, fresh("n"))}},
		{"update nothing", "operation.targets", []memory.Operation{op(memory.OpUpdate, fresh("n"))}},
		{"update two", "operation.targets", []memory.Operation{op(memory.OpUpdate, fresh("n"), "m1", "m2")}},
		{"merge nothing", "operation.targets", []memory.Operation{op(memory.OpMerge, fresh("n"))}},
		{"delete nothing", "operation.targets", []memory.Operation{op(memory.OpDelete, nil)}},
		{"update to nothing", "operation.new", []memory.Operation{op(memory.OpUpdate, nil, "m1")}},
		{"update itself", "operation.new", []memory.Operation{op(memory.OpUpdate, fresh("m1"), "m1")}},
		{"target nobody was shown", "operation.targets", []memory.Operation{op(memory.OpDelete, nil, "secret")}},
		{"target written later", "operation.targets",
			[]memory.Operation{op(memory.OpDelete, nil, "n"), op(memory.OpAdd, fresh("n"))}},
		{"target gone", "operation.targets", []memory.Operation{op(memory.OpDelete, nil, "gone")}},
		{"target closed before", "operation.targets",
			[]memory.Operation{op(memory.OpDelete, nil, "m1"), op(memory.OpUpdate, fresh("n"), "m1")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, err := memory.Plan(ana, c.ops, []memory.Memory{stored("m1", 1), stored("m2", 1), superseded}, now)
			if !fault.IsTerminal(err) || fault.Field(err) != c.field {
				t.Errorf("got %v, want a terminal error about %s", err, c.field)
			}
			if !reflect.DeepEqual(w, memory.Write{}) {
				t.Errorf("a refused plan writes %+v", w)
			}
		})
	}
}

// TestPlanProperties checks any list of operations that Plan accepts.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		existing := []memory.Memory{stored("a", 1), stored("b", 2), stored("c", 3)}
		before := slices.Clone(existing)
		ops := drawOperations(r, []string{"a", "b", "c"})
		w, err := memory.Plan(ana, ops, existing, now)
		if err != nil {
			r.Fatalf("Plan: %v", err)
		}
		again, _ := memory.Plan(ana, ops, existing, now)
		if !reflect.DeepEqual(w, again) || !reflect.DeepEqual(existing, before) {
			r.Fatalf("planning twice differs, or changed its input")
		}
		versions := map[string]int{"a": 1, "b": 2, "c": 3}
		for _, m := range w.Put {
			for _, p := range m.Predecessors {
				if versions[p] >= m.Version {
					r.Fatalf("%s, version %d, follows %s, version %d", m.ID, m.Version, p, versions[p])
				}
			}
			versions[m.ID] = m.Version
			if (m.Status == memory.StatusActive) != m.ValidTo.IsZero() || m.ValidTo.Before(m.ValidFrom) && !m.ValidTo.IsZero() {
				r.Fatalf("%s is %s from %s to %s", m.ID, m.Status, m.ValidFrom, m.ValidTo)
			}
		}
		closed := closedIDs(w)
		slices.Sort(closed)
		if len(slices.Compact(closed)) != len(w.Close) {
			r.Fatalf("an entry is closed twice: %+v", w.Close)
		}
	})
}

// drawOperations draws operations that are valid one after the other.
func drawOperations(r *rapid.T, active []string) []memory.Operation {
	kinds := []memory.OpKind{memory.OpAdd, memory.OpUpdate, memory.OpMerge, memory.OpDelete, memory.OpNone}
	names := []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}
	var ops []memory.Operation
	for _, name := range names[:rapid.IntRange(0, len(names)).Draw(r, "operations")] {
		kind := rapid.SampledFrom(kinds).Draw(r, "kind")
		if len(active) == 0 {
			kind = memory.OpAdd
		}
		o := op(kind, nil)
		if kind == memory.OpUpdate || kind == memory.OpMerge || kind == memory.OpDelete {
			count := 1
			if kind == memory.OpMerge {
				count = rapid.IntRange(1, len(active)).Draw(r, "targets")
			}
			o.Targets = slices.Clone(rapid.Permutation(active).Draw(r, "order")[:count])
			active = slices.DeleteFunc(slices.Clone(active), func(id string) bool { return slices.Contains(o.Targets, id) })
		}
		if kind != memory.OpDelete && kind != memory.OpNone {
			o.New = fresh(name)
			active = append(active, name)
		}
		ops = append(ops, o)
	}
	return ops
}

func closedIDs(w memory.Write) []string {
	var out []string
	for _, c := range w.Close {
		out = append(out, c.ID)
	}
	return out
}

func TestANewVersionHasTheTierOfItsOperation(t *testing.T) {
	talk, old := fresh("n1"), stored("m1", 1)
	talk.Tier, old.Tier = memory.TierTalk, memory.TierTalk
	w := plan(t, []memory.Operation{op(memory.OpAdd, talk), op(memory.OpUpdate, fresh("n2"), "m1")}, old)
	if w.Put[0].Tier != memory.TierTalk || w.Put[1].Tier != memory.TierMemory {
		t.Errorf("got the tiers %q and %q, want talk and memory", w.Put[0].Tier, w.Put[1].Tier)
	}
	if written, err := json.Marshal(w.Put[1]); err != nil || strings.Contains(string(written), "tier") {
		t.Errorf("got %s, %v, want no tier in the JSON of a memory", written, err)
	}
	if memory.Tier("memories").Valid() || !memory.TierTalk.Valid() || !memory.TierMemory.Valid() {
		t.Error("want talk and memory as the only valid tiers")
	}
}

func TestAChangeIsTalkIfAllItsEntriesAre(t *testing.T) {
	talk, said := fresh("n1"), stored("m1", 1)
	talk.Tier, said.Tier = memory.TierTalk, memory.TierTalk
	later := fresh("n2")
	later.Tier = memory.TierTalk
	ops := []memory.Operation{
		op(memory.OpAdd, talk), op(memory.OpUpdate, later, "n1"), op(memory.OpDelete, nil, "m1"),
		op(memory.OpAdd, fresh("n3")),
		op(memory.OpMerge, fresh("n4"), "n2"), op(memory.OpDelete, nil, "m2"), op(memory.OpRelease, nil, "m1"),
	}
	want := []memory.Tier{memory.TierTalk, memory.TierTalk, memory.TierTalk, "", "", "", memory.TierTalk}
	for i, c := range memory.Changes(ana, ops, []memory.Memory{said, stored("m2", 1)}) {
		if c.Tier != want[i] {
			t.Errorf("operation %d, %s: got the tier %q, want %q", i, c.Kind, c.Tier, want[i])
		}
	}
}
