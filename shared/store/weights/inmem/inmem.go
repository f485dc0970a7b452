// Package inmem keeps weights and traces in the process. It is for tests and single-process trials: nothing survives
// a restart, and other processes do not see it.
package inmem

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// Store is a weights.Store in memory.
type Store struct {
	limits weights.Limits
	now    func() time.Time

	mu      sync.Mutex
	tenants map[string]*tenant
	users   map[memory.Scope]*user
	writes  int // since the last sweep
}

var _ weights.Store = (*Store)(nil)

type tenant struct {
	record   weights.Record
	versions []weights.Version // by number
}

type user struct {
	traces []trace // oldest first
	events map[string]time.Time
}

type trace struct {
	id   string
	body []byte
	at   time.Time
}

// New returns a store with limits. now is the clock for ages; nil means time.Now.
func New(l weights.Limits, now func() time.Time) (*Store, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	return &Store{limits: l, now: now, tenants: map[string]*tenant{}, users: map[memory.Scope]*user{}}, nil
}

// Load implements weights.Tenants.
func (s *Store) Load(_ context.Context, name string, known uint64) (weights.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tenants[name]
	if !ok {
		return weights.Record{}, nil
	}
	r := weights.Record{Revision: t.record.Revision}
	if r.Revision != known {
		r.Body = bytes.Clone(t.record.Body)
	}
	return r, nil
}

// Known implements weights.Tenants.
func (s *Store) Known(
	_ context.Context, scope memory.Scope, eventIDs []string, since time.Time,
) (weights.Known, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := weights.Known{Seen: make([]bool, len(eventIDs))}
	u, ok := s.users[scope]
	if !ok {
		return k, nil
	}
	for i, id := range eventIDs {
		_, k.Seen[i] = u.events[id]
	}
	for _, at := range u.events {
		if at.UnixMilli() > since.UnixMilli() {
			k.Recent++
		}
	}
	return k, nil
}

// Commit implements weights.Tenants.
func (s *Store) Commit(_ context.Context, name string, c weights.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[name]
	if t == nil {
		t = &tenant{}
	}
	if t.record.Revision != c.From {
		return weights.ErrConflict
	}
	s.tenants[name] = t
	t.record = weights.Record{Revision: c.From + 1, Body: bytes.Clone(c.Body)}
	for _, v := range c.Versions {
		t.versions = append(t.versions, weights.Version{Number: v.Number, Body: bytes.Clone(v.Body)})
	}
	if extra := len(t.versions) - s.limits.Versions; extra > 0 {
		t.versions = slices.Delete(t.versions, 0, extra)
	}
	if len(c.Events) > 0 {
		u := s.user(memory.Scope{Tenant: name, User: c.User})
		for _, e := range c.Events {
			u.events[e.ID] = e.Time
		}
	}
	return nil
}

// Versions implements weights.Tenants.
func (s *Store) Versions(_ context.Context, name string) ([]weights.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tenants[name]
	if !ok {
		return nil, nil
	}
	out := make([]weights.Version, len(t.versions))
	for i, v := range t.versions {
		out[i] = weights.Version{Number: v.Number, Body: bytes.Clone(v.Body)}
	}
	slices.SortFunc(out, func(a, b weights.Version) int { return cmp.Compare(b.Number, a.Number) })
	return out, nil
}

// PutTrace implements weights.Traces.
func (s *Store) PutTrace(_ context.Context, scope memory.Scope, recallID string, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(scope)
	u.traces = slices.DeleteFunc(u.traces, func(t trace) bool { return t.id == recallID })
	u.traces = append(u.traces, trace{id: recallID, body: bytes.Clone(body), at: s.now()})
	if extra := len(u.traces) - s.limits.Traces; extra > 0 {
		u.traces = slices.Delete(u.traces, 0, extra)
	}
	return nil
}

// Traces implements weights.Traces.
func (s *Store) Traces(_ context.Context, scope memory.Scope, recallIDs []string) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([][]byte, len(recallIDs))
	u, ok := s.users[scope]
	if !ok {
		return out, nil
	}
	u.expire(s.now(), s.limits)
	for i, id := range recallIDs {
		if at := slices.IndexFunc(u.traces, func(t trace) bool { return t.id == id }); at >= 0 {
			out[i] = bytes.Clone(u.traces[at].body)
		}
	}
	return out, nil
}

// Erase implements weights.Traces.
func (s *Store) Erase(_ context.Context, scope memory.Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, scope)
	return nil
}

// Count implements weights.Traces.
func (s *Store) Count(_ context.Context, scope memory.Scope) (weights.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.users[scope]
	if !ok {
		return weights.Counts{}, nil
	}
	u.expire(s.now(), s.limits)
	return weights.Counts{Traces: len(u.traces), Events: len(u.events)}, nil
}

// user returns a user for a write. Once per as many writes as there are users, it drops users without data, so the
// average cost per write is constant.
func (s *Store) user(scope memory.Scope) *user {
	now := s.now()
	if s.writes++; s.writes > len(s.users) {
		s.writes = 0
		for other, u := range s.users {
			if u.expire(now, s.limits); len(u.traces)+len(u.events) == 0 {
				delete(s.users, other)
			}
		}
	}
	u, ok := s.users[scope]
	if !ok {
		u = &user{events: map[string]time.Time{}}
		s.users[scope] = u
	}
	u.expire(now, s.limits)
	return u
}

// expire drops data that is too old. The clocks of replicas may differ, so the comparison needs no exact millisecond.
func (u *user) expire(now time.Time, l weights.Limits) {
	u.traces = slices.DeleteFunc(u.traces, func(t trace) bool { return now.Sub(t.at) >= l.TraceTTL })
	for id, at := range u.events {
		if now.Sub(at) > l.EventTTL() {
			delete(u.events, id)
		}
	}
}
