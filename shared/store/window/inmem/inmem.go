// Package inmem keeps working memory in the process. It is for tests and single-process
// trials: nothing survives a restart and replicas do not see each other.
package inmem

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// Window is a window.Window in memory.
type Window struct {
	limits window.Limits
	now    func() time.Time

	mu     sync.Mutex
	users  map[memory.Scope]*user
	writes int // since the last sweep
}

var _ window.Window = (*Window)(nil)

// user is the window of one user.
type user struct {
	turns   []memory.Turn // by time, then id
	retired map[string]struct{}
	newest  time.Time // of all turns ever added; zero before the first
	expires time.Time
}

// New makes a window with limits. now is the clock that Limits.Idle is measured by; nil
// means time.Now.
func New(l window.Limits, now func() time.Time) (*Window, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	return &Window{limits: l, now: now, users: map[memory.Scope]*user{}}, nil
}

// Append implements window.Window.
func (w *Window) Append(_ context.Context, scope memory.Scope, turns []memory.Turn) error {
	for _, t := range turns {
		if t.ID == "" {
			return fault.Terminal("turn.id", "is empty")
		}
	}
	if len(turns) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.writable(scope)
	for _, t := range turns {
		u.add(t)
	}
	u.trim(w.limits)
	return nil
}

// Recent implements window.Window.
func (w *Window) Recent(_ context.Context, scope memory.Scope) ([]memory.Turn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.users[scope]
	if !ok || !u.expires.After(w.now()) {
		return nil, nil
	}
	return slices.Clone(u.turns), nil
}

// Retire implements window.Window.
func (w *Window) Retire(_ context.Context, scope memory.Scope, turnIDs []string) error {
	if len(turnIDs) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.writable(scope)
	for _, id := range turnIDs {
		u.retired[id] = struct{}{}
	}
	u.turns = slices.DeleteFunc(u.turns, func(t memory.Turn) bool {
		_, gone := u.retired[t.ID]
		return gone
	})
	return nil
}

// Erase implements window.Window.
func (w *Window) Erase(_ context.Context, scope memory.Scope) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.users, scope)
	return nil
}

// Reinstate implements window.Window.
func (w *Window) Reinstate(_ context.Context, scope memory.Scope) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.users[scope]; u != nil {
		clear(u.retired)
	}
	return nil
}

// Count implements window.Window.
func (w *Window) Count(_ context.Context, scope memory.Scope) (window.Counts, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.users[scope]
	if !ok || !u.expires.After(w.now()) {
		return window.Counts{}, nil
	}
	return window.Counts{Turns: len(u.turns), Retired: len(u.retired)}, nil
}

// Ping implements window.Window; memory can always be reached.
func (w *Window) Ping(context.Context) error { return nil }

// writable returns the user's window for a write, which also puts off its expiry.
func (w *Window) writable(scope memory.Scope) *user {
	now := w.now()
	w.sweep(now)
	u, ok := w.users[scope]
	if !ok || !u.expires.After(now) {
		u = &user{retired: map[string]struct{}{}}
		w.users[scope] = u
	}
	u.expires = now.Add(w.limits.Idle)
	return u
}

// sweep forgets idle users. It runs once in as many writes as there are users, so that a
// write costs a constant on average.
func (w *Window) sweep(now time.Time) {
	w.writes++
	if w.writes <= len(w.users) {
		return
	}
	w.writes = 0
	for scope, u := range w.users {
		if !u.expires.After(now) {
			delete(w.users, scope)
		}
	}
}

func (u *user) add(t memory.Turn) {
	if _, gone := u.retired[t.ID]; gone {
		return
	}
	if slices.ContainsFunc(u.turns, func(have memory.Turn) bool { return have.ID == t.ID }) {
		return
	}
	t.Time = t.Time.UTC()
	at, _ := slices.BinarySearchFunc(u.turns, t, compare)
	u.turns = slices.Insert(u.turns, at, t)
	if t.Time.After(u.newest) {
		u.newest = t.Time
	}
}

func (u *user) trim(l window.Limits) {
	oldest := u.newest.UnixMilli() - l.Age.Milliseconds()
	u.turns = slices.DeleteFunc(u.turns, func(t memory.Turn) bool { return t.Time.UnixMilli() < oldest })
	if extra := len(u.turns) - l.Turns; extra > 0 {
		u.turns = slices.Delete(u.turns, 0, extra)
	}
}

func compare(a, b memory.Turn) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
