// Package inmem keeps checkpoints in the process. It is for tests and trials of a single process: nothing survives a
// restart.
package inmem

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/lab/checkpoint"
)

// Store is a checkpoint.Store in memory.
type Store struct {
	ttl time.Duration
	now func() time.Time

	mu   sync.Mutex
	runs map[string]run
}

type run struct {
	bodies  map[string][]byte
	expires time.Time
}

var _ checkpoint.Store = (*Store)(nil)

// New makes a store that keeps runs for ttl after their last Put. now is its clock; nil means time.Now.
func New(ttl time.Duration, now func() time.Time) (*Store, error) {
	if err := checkpoint.CheckTTL(ttl); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	return &Store{ttl: ttl, now: now, runs: map[string]run{}}, nil
}

// Put implements checkpoint.Store.
func (s *Store) Put(_ context.Context, name, key string, body []byte) error {
	if err := checkpoint.CheckSize(body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.runs, func(_ string, r run) bool { return !r.expires.After(now) })
	r := s.runs[name]
	if r.bodies == nil {
		r.bodies = map[string][]byte{}
	}
	r.bodies[key], r.expires = append([]byte{}, body...), now.Add(s.ttl)
	s.runs[name] = r
	return nil
}

// Get implements checkpoint.Store.
func (s *Store) Get(_ context.Context, name, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[name]
	body, ok := r.bodies[key]
	if !ok || !r.expires.After(s.now()) {
		return nil, checkpoint.ErrAbsent
	}
	return bytes.Clone(body), nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(_ context.Context, name string, keys ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.runs[name].bodies, key)
	}
	return nil
}

// DeleteRun implements checkpoint.Store.
func (s *Store) DeleteRun(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, name)
	return nil
}
