// Package inmem keeps working memory in the process. It is for tests and single-process trials: nothing survives a
// restart, and replicas do not share it.
package inmem

import (
	"context"
	"maps"
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
	turns   []entry // by time, then id
	retired map[string]struct{}
	newest  time.Time // of all turns ever added; zero before the first
	expires time.Time
}

// entry is a turn of a window.
type entry struct {
	memory.Turn
	words int
	// until is the time until which the turn is kept. It is zero for other turns.
	until time.Time
}

// New returns a window with limits. now is the clock for Limits.Idle; nil means time.Now.
func New(l window.Limits, now func() time.Time) (*Window, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	return &Window{limits: l, now: now, users: map[memory.Scope]*user{}}, nil
}

// Fork returns an independent window with the same contents.
func (w *Window) Fork() *Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := &Window{limits: w.limits, now: w.now, users: map[memory.Scope]*user{}, writes: w.writes}
	for scope, u := range w.users {
		other := *u
		other.turns, other.retired = slices.Clone(u.turns), maps.Clone(u.retired)
		out.users[scope] = &other
	}
	return out
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
		u.add(t, time.Time{})
	}
	u.trim(w.limits)
	return nil
}

// Keep implements window.Window.
func (w *Window) Keep(_ context.Context, scope memory.Scope, kept []window.Kept) error {
	for _, k := range kept {
		if k.Turn.ID == "" {
			return fault.Terminal("turn.id", "is empty")
		}
		if k.Until.IsZero() {
			return fault.Terminal("kept.until", "is not set")
		}
	}
	if len(kept) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.writable(scope)
	for _, k := range kept {
		u.add(k.Turn, k.Until)
	}
	u.trim(w.limits)
	return nil
}

// Recent implements window.Window.
func (w *Window) Recent(_ context.Context, scope memory.Scope, at time.Time) ([]memory.Turn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.users[scope]
	if !ok || !u.expires.After(w.now()) {
		return nil, nil
	}
	var out []memory.Turn
	for _, e := range u.turns {
		if !e.expired(at) {
			out = append(out, e.Turn)
		}
	}
	return out, nil
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
	u.turns = slices.DeleteFunc(u.turns, func(t entry) bool {
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
		u.turns = slices.DeleteFunc(u.turns, func(e entry) bool { return !e.until.IsZero() })
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

// writable returns the user's window for a write, which also postpones its expiry.
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

// sweep drops idle users. It runs once per as many writes as there are users, so the average cost per write is
// constant.
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

// expired reports whether the turn was kept until before a time, in milliseconds.
func (e entry) expired(at time.Time) bool {
	return !e.until.IsZero() && !at.IsZero() && e.until.UnixMilli() < at.UnixMilli()
}

// add adds a turn that is kept until a time, or a turn without such a time.
func (u *user) add(t memory.Turn, until time.Time) {
	if _, gone := u.retired[t.ID]; gone {
		return
	}
	if i := slices.IndexFunc(u.turns, func(have entry) bool { return have.ID == t.ID }); i >= 0 {
		if until.After(u.turns[i].until) {
			u.turns[i].until = until
		}
		return
	}
	t.Time = t.Time.UTC()
	e := entry{t, window.Words(t), until}
	at, _ := slices.BinarySearchFunc(u.turns, e, compare)
	u.turns = slices.Insert(u.turns, at, e)
	if t.Time.After(u.newest) {
		u.newest = t.Time
	}
}

func (u *user) trim(l window.Limits) {
	oldest := u.newest.UnixMilli() - l.Age.Milliseconds()
	u.turns = slices.DeleteFunc(u.turns, func(e entry) bool { return e.Time.UnixMilli() < oldest || e.expired(u.newest) })
	for _, kept := range []bool{false, true} {
		u.spend(l.Words, kept)
	}
}

// spend removes the turns of one kind, kept or not, that exceed the word budget. It counts from the newest, and
// removes the first turn that does not fit and all before it.
func (u *user) spend(budget int, kept bool) {
	out, spent, some := make([]entry, 0, len(u.turns)), 0, false
	for _, e := range slices.Backward(u.turns) {
		if e.until.IsZero() == kept {
			out = append(out, e)
			continue
		}
		spent += e.words
		if !some || spent <= budget {
			out = append(out, e)
		}
		some = true
	}
	slices.Reverse(out)
	u.turns = out
}

func compare(a, b entry) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
