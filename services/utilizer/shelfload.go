package utilizer

import (
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

const (
	// loads is how many indexes are made at a time, loadTimeout how long one may take.
	loads       = 4
	loadTimeout = 10 * time.Second
	// shelvedBytes is what a user takes beside the index, numberBytes what the reranker's numbers of a memory take.
	shelvedBytes, numberBytes = 1024, 128
)

// errTooLarge says that a user has more than is indexed as a whole.
var errTooLarge = errors.New("too large for an index")

// newShelved is what is kept under a key until a time.
func newShelved(key string, index *features.Index, until time.Time) *shelved {
	e := &shelved{index: index, until: until, bytes: shelvedBytes + 2*len(key)}
	if index != nil {
		e.projected = map[string][]byte{}
		e.bytes += index.Bytes() + numberBytes*index.Len()
	}
	return e
}

func (s *IndexCache) load(scope memory.Scope, l *load) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(s.life, loadTimeout)
	defer cancel()
	index, err := s.read(ctx, scope)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loading[scope.Key()] == l { // and not one that was begun after a drop
		delete(s.loading, scope.Key())
	}
	if err != nil && !errors.Is(err, errTooLarge) {
		if s.life.Err() == nil {
			s.log.Warn("memories not indexed", "tenant", scope.Tenant, "error", err)
		}
		return
	}
	if !l.dropped || index == nil { // a change makes nobody small
		s.keep(scope.Key(), newShelved(scope.Key(), index, time.Now().Add(s.options.Fresh)))
	}
}

// read makes the index of all that a user remembers.
func (s *IndexCache) read(ctx context.Context, scope memory.Scope) (*features.Index, error) {
	if err := s.turns.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.turns.Release(1)
	memories, err := s.memories(ctx, scope)
	if err != nil {
		return nil, err
	}
	turns, err := s.turnsOf(ctx, scope)
	if err != nil {
		return nil, err
	}
	return features.New(s.table, memories, turns), nil
}

func (s *IndexCache) memories(ctx context.Context, scope memory.Scope) (out []memory.Memory, err error) {
	room := s.options.Bytes
	for m, err := range bank.EachMemory(ctx, s.bank, scope, bank.ListOptions{Limit: bank.MaxLimit, WithVectors: true}) {
		if err != nil {
			return nil, err
		}
		room -= len(m.Content) + len(m.Value) + 4*len(m.Vector) // an index takes more
		if out = append(out, m); len(out) > s.options.Entries || room < 0 {
			return nil, errTooLarge
		}
	}
	return withoutOdd(out), nil
}

func (s *IndexCache) turnsOf(ctx context.Context, scope memory.Scope) (out []memory.Turn, err error) {
	room := s.options.Bytes
	for t, err := range bank.EachTurn(ctx, s.bank, scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		room -= len(t.Text)
		if out = append(out, t); len(out) > s.options.Entries || room < 0 {
			return nil, errTooLarge
		}
	}
	return out, nil
}

// project returns the encoded projection of a memory's vector, from what was made before where it can.
func (e *shelved) project(p *ranking.Projector, m memory.Memory) ([]byte, error) {
	if e == nil {
		return ranking.EncodeVector(p.Project(m.Vector))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if b, ok := e.projected[m.ID]; ok {
		return b, nil
	}
	b, err := ranking.EncodeVector(p.Project(m.Vector))
	if err == nil {
		e.projected[m.ID] = b
	}
	return b, err
}
