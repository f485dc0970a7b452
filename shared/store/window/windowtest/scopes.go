package windowtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// isolation writes to many scopes that a careless encoding would confuse.
func (s *suite) isolation(t *testing.T) {
	w := s.factory(t, wide).Window
	unique := s.scope().User
	var scopes []memory.Scope
	for _, tenant := range []string{"a", "b", "a-b"} {
		for _, user := range []string{
			"u", "u}", "{u}", "{}", "a/u", "b:u", "u:turns", "u ", "U", "ü", "*", "u\n", "\"u\"", strings.Repeat("x", 200),
		} {
			scopes = append(scopes, memory.Scope{Tenant: tenant, User: unique + user})
		}
	}
	for _, scope := range scopes {
		mustAppend(t, w, scope, turn(scope.Key(), 0), turn("shared", time.Minute))
	}
	mustRetire(t, w, scopes[0], "shared")
	wantIDs(t, w, scopes[0], scopes[0].Key())
	for _, scope := range scopes[1:] {
		wantIDs(t, w, scope, scope.Key(), "shared")
	}
}

func (s *suite) expiry(t *testing.T) {
	const idle = 200 * time.Millisecond
	b := s.factory(t, window.Limits{Words: 10 * turnWords, Age: time.Hour, Idle: idle})
	scope := s.scope()
	mustRetire(t, b.Window, scope, "a")
	mustAppend(t, b.Window, scope, turn("a", 10*time.Hour), turn("b", 10*time.Hour))
	if b.Advance != nil {
		b.Advance(idle + time.Millisecond)
	}
	s.until(t, b, func() bool { return len(recent(t, b.Window, scope)) == 0 })
	s.until(t, b, func() bool {
		mustAppend(t, b.Window, scope, turn("a", 0))
		return slices.Equal(ids(recent(t, b.Window, scope)), []string{"a"})
	})
}

// until waits for done. A manual clock needs no wait. With the real clock, a slow machine may lose a window between
// two calls, so it asks again.
func (s *suite) until(t *testing.T, b Backend, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if b.Advance != nil || time.Now().After(deadline) {
			t.Fatal("the window outlived its idle limit")
		}
	}
}

// expiryPutOff writes at least once per half idle time. With the real clock, it only checks that reads and writes do
// not shorten a window's lifetime.
func (s *suite) expiryPutOff(t *testing.T) {
	b := s.factory(t, window.Limits{Words: 10 * turnWords, Age: time.Hour, Idle: time.Minute})
	scope := s.scope()
	half := func() {
		if b.Advance != nil {
			b.Advance(40 * time.Second)
		}
	}
	mustAppend(t, b.Window, scope, turn("a", 0), turn("gone", 0))
	half()
	mustRetire(t, b.Window, scope, "gone")
	half()
	mustAppend(t, b.Window, scope, turn("b", time.Minute))
	half()
	mustAppend(t, b.Window, scope, turn("gone", 0))
	wantIDs(t, b.Window, scope, "a", "b")
}
