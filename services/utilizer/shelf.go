package utilizer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/semaphore"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// IndexCacheOptions bound a shelf.
type IndexCacheOptions struct {
	// Bytes is about how much all indexes may take, as they are estimated; 0 keeps none.
	Bytes int
	// Entries is how many memories, or turns, a user may have to be indexed as a whole.
	Entries int
	// Fresh is how long an index is good for; a memory change drops it sooner.
	Fresh time.Duration
}

// IndexCache keeps what users remember ready to be asked as a whole, for those who were asked lately: within what it may take, until the
// user's memory changes. It is safe for concurrent use.
type IndexCache struct {
	bank    bank.Bank
	table   *wordvector.Table
	options IndexCacheOptions
	log     *slog.Logger
	turns   *semaphore.Weighted
	stop    context.CancelFunc
	life    context.Context
	running sync.WaitGroup

	mu      sync.Mutex
	kept    *simplelru.LRU[string, *shelved]
	bytes   int
	loading map[string]*load
}

// shelved is an index, or the knowledge that there is to be none.
type shelved struct {
	index *features.Index // nil: the user is too large
	until time.Time
	bytes int

	mu sync.Mutex
	// projected has the encoded vectors that the reranker gets, by memory, as far as they were needed.
	projected map[string][]byte
}

// load is an index on its way.
type load struct {
	done chan struct{}
	// dropped says that the memory has changed meanwhile.
	dropped bool
}

// NewIndexCache makes a shelf; Close it. It panics on a negative bound.
func NewIndexCache(b bank.Bank, table *wordvector.Table, o IndexCacheOptions, log *slog.Logger) *IndexCache {
	kept, err := simplelru.NewLRU[string, *shelved](1<<30, nil) // bounded by bytes, below
	if err != nil || o.Bytes < 0 || o.Entries < 0 {
		panic(fmt.Sprintf("shelf of %+v: %v", o, err))
	}
	s := &IndexCache{bank: b, table: table, options: o, log: log, turns: semaphore.NewWeighted(loads), kept: kept, loading: map[string]*load{}}
	s.life, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends what is on its way.
func (s *IndexCache) Close() error {
	s.mu.Lock()
	s.stop() // no load begins after this
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// get returns a user's index; ok is false where there is none, and large says that there will be none.
func (s *IndexCache) get(scope memory.Scope) (found *shelved, ok, large bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found = s.fresh(scope.Key())
	return found, found != nil && found.index != nil, found != nil && found.index == nil
}

// fresh returns what is kept and still good; nil where there is nothing.
func (s *IndexCache) fresh(key string) *shelved {
	found, ok := s.kept.Get(key)
	if ok && time.Now().After(found.until) {
		s.remove(key)
		return nil
	}
	return found
}

// fetch makes a user's index ready, unless it is or that is being done, and returns what is closed then: with an index, or without.
func (s *IndexCache) fetch(scope memory.Scope) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scope.Key()
	if l, ok := s.loading[key]; ok {
		return l.done
	}
	l := &load{done: make(chan struct{})}
	if s.options.Bytes == 0 || s.life.Err() != nil || s.fresh(key) != nil {
		close(l.done)
		return l.done
	}
	s.loading[key] = l
	s.running.Go(func() { s.load(scope, l) })
	return l.done
}

// keep makes room for an index. Of one that is larger than all the room, it is remembered that it is.
func (s *IndexCache) keep(key string, e *shelved) {
	s.remove(key)
	if e.bytes > s.options.Bytes {
		e = newShelved(key, nil, e.until)
	}
	if e.bytes > s.options.Bytes {
		return
	}
	s.kept.Add(key, e)
	s.bytes += e.bytes
	for s.bytes > s.options.Bytes {
		_, oldest, ok := s.kept.RemoveOldest()
		if !ok {
			return
		}
		s.bytes -= oldest.bytes
	}
}

func (s *IndexCache) remove(key string) {
	if old, ok := s.kept.Peek(key); ok {
		s.kept.Remove(key)
		s.bytes -= old.bytes
	}
}

// Drop forgets the index of a user, whose memory has changed. That one is too large is remembered: to find it out again takes long.
func (s *IndexCache) Drop(scope memory.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scope.Key()
	if old, ok := s.kept.Peek(key); ok && old.index != nil {
		s.remove(key)
	}
	if l, ok := s.loading[key]; ok {
		l.dropped = true
		delete(s.loading, key) // the next to ask begins anew
	}
}
