package weightstest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

func mustPut(t tester, s weights.Store, scope memory.Scope, recallID, body string) {
	t.Helper()
	if err := s.PutTrace(t.Context(), scope, recallID, []byte(body)); err != nil {
		t.Fatalf("put trace: %v", err)
	}
}

// traceOf returns a trace as text, or "" without a trace.
func traceOf(t tester, s weights.Store, scope memory.Scope, recallID string) string {
	t.Helper()
	got, err := s.Traces(t.Context(), scope, []string{recallID})
	if err != nil || len(got) != 1 {
		t.Fatalf("traces: got %d, %v", len(got), err)
	}
	return string(got[0])
}

func wantCounts(t tester, s weights.Store, scope memory.Scope, want weights.Counts) {
	t.Helper()
	if got, err := s.Count(t.Context(), scope); err != nil || got != want {
		t.Fatalf("count: got %+v, %v, want %+v", got, err, want)
	}
}

func (s *suite) traces(t *testing.T) {
	b, scope := s.factory(t, wide).Store, s.scope()
	if err := b.PutTrace(t.Context(), scope, "r1", binary()); err != nil {
		t.Fatal(err)
	}
	mustPut(t, b, scope, "r 2\n", "two")
	got, err := b.Traces(t.Context(), scope, []string{"r3", "r 2\n", "r1", "r1"})
	if err != nil || !reflect.DeepEqual(got, [][]byte{nil, []byte("two"), binary(), binary()}) {
		t.Fatalf("got %q, %v", got, err)
	}
	if none, err := b.Traces(t.Context(), scope, nil); err != nil || len(none) != 0 {
		t.Errorf("no recalls: got %v, %v", none, err)
	}
	wantCounts(t, b, scope, weights.Counts{Traces: 2})
}

func (s *suite) traceAgain(t *testing.T) {
	b, scope := s.factory(t, wide).Store, s.scope()
	mustPut(t, b, scope, "r1", "first")
	mustPut(t, b, scope, "r1", "second")
	if got := traceOf(t, b, scope, "r1"); got != "second" {
		t.Errorf("got %q, want the second", got)
	}
	wantCounts(t, b, scope, weights.Counts{Traces: 1})
}

func (s *suite) traceLimit(t *testing.T) {
	b := s.factory(t, weights.Limits{Versions: 1, Traces: 3, TraceTTL: time.Hour})
	scope := s.scope()
	for i := range 10 {
		before := time.Now().UnixMilli()
		mustPut(t, b.Store, scope, fmt.Sprint(9-i), fmt.Sprint("trace ", i)) // ids fall, so an order by id would be wrong
		s.step(b, before)
	}
	wantCounts(t, b.Store, scope, weights.Counts{Traces: 3})
	for i := range 10 {
		if got := traceOf(t, b.Store, scope, fmt.Sprint(9-i)); (got != "") != (i >= 7) {
			t.Errorf("the trace put as %d is %q", i, got)
		}
	}
}

// step waits a millisecond, so that stores can order by time.
func (s *suite) step(b Backend, before int64) {
	if b.Advance != nil {
		b.Advance(time.Millisecond)
		return
	}
	for time.Now().UnixMilli() <= before+1 {
	}
}

func (s *suite) traceExpiry(t *testing.T) {
	const ttl = 300 * time.Millisecond
	b := s.factory(t, weights.Limits{Versions: 1, Traces: 10, TraceTTL: ttl})
	scope := s.scope()
	mustPut(t, b.Store, scope, "old", "x")
	if b.Advance == nil {
		await(t, func() bool { return traceOf(t, b.Store, scope, "old") == "" })
		await(t, func() bool { n, err := b.Store.Count(t.Context(), scope); return err == nil && n.Traces == 0 })
		return
	}
	b.Advance(ttl / 2)
	mustPut(t, b.Store, scope, "young", "x")
	b.Advance(ttl/2 + time.Millisecond)
	if old, young := traceOf(t, b.Store, scope, "old"), traceOf(t, b.Store, scope, "young"); old != "" || young != "x" {
		t.Errorf("the old trace is %q, the young one %q", old, young)
	}
	b.Advance(ttl)
	wantCounts(t, b.Store, scope, weights.Counts{})
}

// eventExpiry checks that an event is known for as long as a trace of its time may exist, and dropped later.
func (s *suite) eventExpiry(t *testing.T) {
	l := weights.Limits{Versions: 1, Traces: 10, TraceTTL: time.Minute}
	b := s.factory(t, l).Store
	scope := s.scope()
	now := time.Now()
	event := func(id string, ago time.Duration) weights.Event { return weights.Event{ID: id, Time: now.Add(-ago)} }
	mustCommit(t, b, scope.Tenant, weights.Change{User: scope.User, Body: []byte("a"), Events: []weights.Event{
		event("now", 0), event("late", l.TraceTTL), event("ancient", 2*l.EventTTL()),
	}})
	mustCommit(t, b, scope.Tenant, weights.Change{From: 1, User: scope.User, Body: []byte("a"),
		Events: []weights.Event{event("again", 0)}})
	wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{true, true, false, true}, Recent: 3}, "now", "late",
		"ancient", "again")
}

// await polls until ok. Its timeout is long, so that only a real fault fails.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass")
		}
	}
}

func (s *suite) erase(t *testing.T) {
	b, ana := s.factory(t, wide).Store, s.scope()
	others := []memory.Scope{{Tenant: ana.Tenant, User: "ana2"}, {Tenant: ana.Tenant, User: "ana "},
		{Tenant: s.tenant(), User: "ana"}}
	revisions := map[string]uint64{}
	for _, scope := range append(others, ana) {
		mustPut(t, b, scope, "r1", "x")
		mustCommit(t, b, scope.Tenant, weights.Change{
			From: revisions[scope.Tenant], Body: []byte("w"), User: scope.User, Events: eventNow("e1"),
		})
		revisions[scope.Tenant]++
		wantCounts(t, b, scope, weights.Counts{Traces: 1, Events: 1})
	}
	for range 2 {
		if err := b.Erase(t.Context(), ana); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, b, ana, weights.Counts{})
	}
	if got := traceOf(t, b, ana, "r1"); got != "" {
		t.Errorf("the trace is still %q", got)
	}
	for _, scope := range others {
		wantCounts(t, b, scope, weights.Counts{Traces: 1, Events: 1})
	}
	wantRecord(t, b, ana.Tenant, 0, weights.Record{Revision: revisions[ana.Tenant], Body: []byte("w")})
}

// isolation writes to many scopes that a careless encoding would confuse.
func (s *suite) isolation(t *testing.T) {
	b := s.factory(t, wide).Store
	unique := s.tenant()
	var scopes []memory.Scope
	for _, tenant := range []string{"a", "b", "a-b", "a}", "{a}"} {
		for _, user := range []string{"u", "u}", "{u}", "{}", "a/u", "b:u", "u ", "U", "ü", "*", "u\n",
			strings.Repeat("x", 200)} {
			scopes = append(scopes, memory.Scope{Tenant: unique + tenant, User: user})
		}
	}
	revisions := map[string]uint64{}
	for _, scope := range scopes {
		mustPut(t, b, scope, "r", scope.Key())
		mustCommit(t, b, scope.Tenant, weights.Change{
			From: revisions[scope.Tenant], Body: []byte(scope.Tenant), User: scope.User, Events: eventNow(scope.Key()),
		})
		revisions[scope.Tenant]++
	}
	for _, scope := range scopes {
		if got := traceOf(t, b, scope, "r"); got != scope.Key() {
			t.Errorf("%q has the trace of %q", scope.Key(), got)
		}
		wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{true}, Recent: 1}, scope.Key())
		wantRecord(t, b, scope.Tenant, 0, weights.Record{Revision: revisions[scope.Tenant], Body: []byte(scope.Tenant)})
	}
}

// model compares the weights with a plain reference over random calls.
func (s *suite) model(t *testing.T) {
	const keep = 3
	b := s.factory(t, weights.Limits{Versions: keep, Traces: 5, TraceTTL: time.Hour}).Store
	rapid.Check(t, func(r *rapid.T) {
		tenant := s.tenant()
		var want weights.Record
		var newest uint64
		r.Repeat(map[string]func(*rapid.T){
			"commit": func(r *rapid.T) {
				c := weights.Change{
					From: rapid.Uint64Range(max(want.Revision, 1)-1, want.Revision+1).Draw(r, "from"),
					Body: rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(r, "body"),
				}
				for i := range rapid.Uint64Range(0, 2).Draw(r, "versions") {
					c.Versions = append(c.Versions, versions(newest+i+1)...)
				}
				err := b.Commit(r.Context(), tenant, c)
				if (err == nil) != (c.From == want.Revision) {
					r.Fatalf("commit from %d at %d: %v", c.From, want.Revision, err)
				}
				if err == nil {
					want = weights.Record{Revision: want.Revision + 1, Body: c.Body}
					newest += uint64(len(c.Versions))
				}
			},
			"": func(r *rapid.T) {
				if want.Revision > 0 {
					wantRecord(r, b, tenant, 0, want)
				}
				var numbers []uint64
				for n := newest; n > 0 && n+keep > newest; n-- {
					numbers = append(numbers, n)
				}
				wantVersions(r, b, tenant, numbers...)
			},
		})
	})
}
