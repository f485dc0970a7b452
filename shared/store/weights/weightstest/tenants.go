package weightstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// tester is the common part of *testing.T and *rapid.T for the helpers.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

func mustCommit(t tester, s weights.Store, tenant string, c weights.Change) {
	t.Helper()
	if err := s.Commit(t.Context(), tenant, c); err != nil {
		t.Fatalf("commit from %d: %v", c.From, err)
	}
}

func wantRecord(t tester, s weights.Store, tenant string, known uint64, want weights.Record) {
	t.Helper()
	got, err := s.Load(t.Context(), tenant, known)
	if err != nil || got.Revision != want.Revision || !bytes.Equal(got.Body, want.Body) {
		t.Fatalf("load: got revision %d with %q, %v; want %d with %q", got.Revision, got.Body, err, want.Revision, want.Body)
	}
}

func wantVersions(t tester, s weights.Store, tenant string, want ...uint64) {
	t.Helper()
	got, err := s.Versions(t.Context(), tenant)
	if err != nil {
		t.Fatalf("versions: %v", err)
	}
	numbers := []uint64{}
	for _, v := range got {
		numbers = append(numbers, v.Number)
		if string(v.Body) != fmt.Sprint("version ", v.Number) {
			t.Fatalf("version %d is %q", v.Number, v.Body)
		}
	}
	if !reflect.DeepEqual(numbers, append([]uint64{}, want...)) {
		t.Fatalf("versions are %v, want %v", numbers, want)
	}
}

func versions(numbers ...uint64) []weights.Version {
	out := []weights.Version{}
	for _, n := range numbers {
		out = append(out, weights.Version{Number: n, Body: fmt.Append(nil, "version ", n)})
	}
	return out
}

func (s *suite) emptyTenant(t *testing.T) {
	b, scope := s.factory(t, wide).Store, s.scope()
	wantRecord(t, b, scope.Tenant, 0, weights.Record{})
	wantRecord(t, b, scope.Tenant, 7, weights.Record{})
	wantVersions(t, b, scope.Tenant)
	wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{false, false}}, "a", "b")
	wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{}})
}

func (s *suite) roundTrip(t *testing.T) {
	b, tenant := s.factory(t, wide).Store, s.tenant()
	body := binary()
	mustCommit(t, b, tenant, weights.Change{Body: body})
	want := weights.Record{Revision: 1, Body: binary()}
	clear(body)
	wantRecord(t, b, tenant, 0, want)
	got, err := b.Load(t.Context(), tenant, 0)
	if err != nil {
		t.Fatal(err)
	}
	clear(got.Body)
	wantRecord(t, b, tenant, 0, want)
	mustCommit(t, b, tenant, weights.Change{From: 1, Body: []byte("next")})
	wantRecord(t, b, tenant, 1, weights.Record{Revision: 2, Body: []byte("next")})
}

func (s *suite) knownRevision(t *testing.T) {
	b, tenant := s.factory(t, wide).Store, s.tenant()
	mustCommit(t, b, tenant, weights.Change{Body: []byte("a")})
	wantRecord(t, b, tenant, 1, weights.Record{Revision: 1})
	wantRecord(t, b, tenant, 2, weights.Record{Revision: 1, Body: []byte("a")})
}

func (s *suite) conflict(t *testing.T) {
	b, scope := s.factory(t, wide).Store, s.scope()
	mustCommit(t, b, scope.Tenant, weights.Change{Body: []byte("a"), Versions: versions(1)})
	for _, from := range []uint64{0, 2, 1 << 40} {
		lost := weights.Change{From: from, Body: []byte("lost"), Versions: versions(2), User: scope.User,
			Events: eventNow("e")}
		if err := b.Commit(t.Context(), scope.Tenant, lost); !errors.Is(err, weights.ErrConflict) {
			t.Fatalf("from %d: got %v, want a conflict", from, err)
		}
	}
	wantRecord(t, b, scope.Tenant, 0, weights.Record{Revision: 1, Body: []byte("a")})
	wantVersions(t, b, scope.Tenant, 1)
	wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{false}}, "e")
	other := s.tenant()
	if err := b.Commit(t.Context(), other, weights.Change{From: 1, Body: []byte("lost")}); !errors.Is(err,
		weights.ErrConflict) {
		t.Fatalf("a tenant with nothing: got %v, want a conflict", err)
	}
	wantRecord(t, b, other, 0, weights.Record{})
}

// concurrentWriters adds one by one: no addition is lost.
func (s *suite) concurrentWriters(t *testing.T) {
	const writers, each = 6, 10
	b, tenant := s.factory(t, wide).Store, s.tenant()
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for done := 0; done < each; {
				r, err := b.Load(t.Context(), tenant, 0)
				if err == nil {
					err = b.Commit(t.Context(), tenant, weights.Change{From: r.Revision, Body: append(r.Body, '+')})
				}
				if err != nil && !errors.Is(err, weights.ErrConflict) {
					t.Errorf("commit: %v", err)
					return
				}
				if err == nil {
					done++
				}
			}
		})
	}
	group.Wait()
	wantRecord(t, b, tenant, 0, weights.Record{Revision: writers * each, Body: bytes.Repeat([]byte("+"), writers*each)})
}

func (s *suite) versions(t *testing.T) {
	b, tenant := s.factory(t, weights.Limits{Versions: 3, Traces: 1, TraceTTL: time.Hour}).Store, s.tenant()
	mustCommit(t, b, tenant, weights.Change{Body: []byte("a"), Versions: versions(1)})
	mustCommit(t, b, tenant, weights.Change{From: 1, Body: []byte("b"), Versions: versions(2, 3)})
	wantVersions(t, b, tenant, 3, 2, 1)
	mustCommit(t, b, tenant, weights.Change{From: 2, Body: []byte("c"), Versions: versions(4)})
	wantVersions(t, b, tenant, 4, 3, 2)
	mustCommit(t, b, tenant, weights.Change{From: 3, Body: []byte("d"), Versions: versions(5, 6, 7, 8, 9, 10)})
	wantVersions(t, b, tenant, 10, 9, 8)
}

func (s *suite) noVersions(t *testing.T) {
	b, tenant := s.factory(t, wide).Store, s.tenant()
	mustCommit(t, b, tenant, weights.Change{Body: []byte("a"), Versions: versions(1)})
	mustCommit(t, b, tenant, weights.Change{From: 1, Body: []byte("b")})
	wantVersions(t, b, tenant, 1)
}

func wantKnown(t tester, s weights.Store, scope memory.Scope, since time.Time, want weights.Known, ids ...string) {
	t.Helper()
	got, err := s.Known(t.Context(), scope, ids, since)
	if err != nil || got.Recent != want.Recent || fmt.Sprint(got.Seen) != fmt.Sprint(want.Seen) {
		t.Fatalf("known: got %+v, %v, want %+v", got, err, want)
	}
}

// eventNow returns an event with the current time.
func eventNow(id string) []weights.Event { return []weights.Event{{ID: id, Time: time.Now()}} }

func (s *suite) events(t *testing.T) {
	b, scope := s.factory(t, wide).Store, s.scope()
	mustCommit(t, b, scope.Tenant, weights.Change{Body: []byte("a"), User: scope.User, Events: []weights.Event{
		{ID: "e1", Time: time.Now()}, {ID: "e 2\n", Time: time.Now()},
	}})
	wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{false, true, true}, Recent: 2}, "e3", "e 2\n", "e1")
	for _, other := range []memory.Scope{{Tenant: scope.Tenant, User: "eva"}, {Tenant: s.tenant(), User: scope.User}} {
		wantKnown(t, b, other, time.Unix(0, 0), weights.Known{Seen: []bool{false}}, "e1")
	}
	mustCommit(t, b, scope.Tenant, weights.Change{From: 1, Body: []byte("a"), User: scope.User, Events: eventNow("e1")})
	wantKnown(t, b, scope, time.Unix(0, 0), weights.Known{Seen: []bool{true}, Recent: 2}, "e1")
}

func (s *suite) recentEvents(t *testing.T) {
	b, scope := s.factory(t, wide).Store, s.scope()
	now := time.Now().Truncate(time.Millisecond)
	c := weights.Change{Body: []byte("a"), User: scope.User}
	for i := range 5 {
		c.Events = append(c.Events, weights.Event{ID: fmt.Sprint(i), Time: now.Add(-time.Duration(i) * time.Minute)})
	}
	mustCommit(t, b, scope.Tenant, c)
	for back, want := range map[time.Duration]int{0: 0, time.Minute: 1, 90 * time.Second: 2, time.Hour: 5} {
		wantKnown(t, b, scope, now.Add(-back), weights.Known{Seen: []bool{}, Recent: want})
	}
}
