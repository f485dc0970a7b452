package utilizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

const (
	// loads is the number of parallel index loads, and loadTimeout is the timeout of one load.
	loads       = 4
	loadTimeout = 10 * time.Second
	// entryBytes is the size of a user without the index. vectorBytes is the size of a memory's vector for the
	// reranker. outdatedBytes is the size of a turn with a memory that no longer holds.
	entryBytes, vectorBytes, outdatedBytes = 1024, 128, 256
)

// errTooLarge means that a user has too many memories for an index.
var errTooLarge = errors.New("too large for an index")

// IndexCacheOptions limit an index cache.
type IndexCacheOptions struct {
	// Bytes is the estimated maximum size of all indexes; 0 turns the cache off.
	Bytes int
	// Entries is the maximum number of memories, and of turns, of a user with an index.
	Entries int
	// Fresh is the maximum age of an index. A memory change drops it sooner.
	Fresh time.Duration
}

// IndexCache keeps the indexes of users with recent or frequent recalls. It stays within its bytes, and drops an
// index when the user's memory changes. One load creates a user's index, for any number of callers. A change during a
// load restarts it. It is safe for concurrent use.
type IndexCache struct {
	bank    bank.Bank
	table   *wordvector.Table
	options IndexCacheOptions
	log     *slog.Logger
	slots   *semaphore.Weighted
	cache   *otter.Cache[memory.Scope, *cachedIndex]

	mu      sync.Mutex // guards running against Close
	life    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// cachedIndex is an index, or a mark that the user gets no index.
type cachedIndex struct {
	index *features.Index // nil: the user is too large
	// outdated has the turns with a memory that no longer holds.
	outdated map[string]statements
	// core is the core block with its source memories. It changes with them, and its changes are announced, too.
	core         memory.Core
	coreMemories []memory.Memory
	// owner distinguishes the user's turns from turns of other speakers.
	owner memory.Owner
	bytes int

	mu sync.Mutex
	// projected has the encoded vectors for the reranker, by memory. It is filled on demand.
	projected map[string][]byte
}

// NewIndexCache creates an index cache. The caller closes it. It panics on a negative limit.
func NewIndexCache(b bank.Bank, table *wordvector.Table, o IndexCacheOptions, log *slog.Logger) *IndexCache {
	if o.Bytes < 0 || o.Entries < 0 {
		panic(fmt.Sprintf("index cache of %+v", o))
	}
	s := &IndexCache{bank: b, table: table, options: o, log: log, slots: semaphore.NewWeighted(loads)}
	s.cache = otter.Must(&otter.Options[memory.Scope, *cachedIndex]{
		MaximumWeight: uint64(max(1, o.Bytes)), //nolint:gosec // not negative
		Weigher: func(scope memory.Scope, e *cachedIndex) uint32 {
			return uint32(min(math.MaxUint32, e.bytes+2*len(scope.Key()))) //nolint:gosec // bounded
		},
		ExpiryCalculator: otter.ExpiryWriting[memory.Scope, *cachedIndex](max(1, o.Fresh)),
		Executor:         func(task func()) { task() }, // eviction runs before a load ends, not later
	})
	s.life, s.stop = context.WithCancel(context.Background())
	return s
}

// Close stops running loads.
func (s *IndexCache) Close() error {
	s.mu.Lock()
	s.stop() // no load begins after this
	s.mu.Unlock()
	s.running.Wait()
	s.cache.StopAllGoroutines()
	return nil
}

// get returns the cached state of a user: an index, or the mark of no index. It returns nil for an unknown user.
func (s *IndexCache) get(scope memory.Scope) *cachedIndex {
	found, _ := s.cache.GetIfPresent(scope)
	return found
}

// fetch starts the load of a user's index, and returns a channel that gets the result once. The result is nil if the
// user gets no index. The channel is nil if the cache is off.
func (s *IndexCache) fetch(scope memory.Scope) <-chan *cachedIndex {
	if s.options.Bytes == 0 {
		return nil
	}
	ready := make(chan *cachedIndex, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		close(ready)
		return ready
	}
	s.running.Go(func() {
		defer close(ready)
		ctx, cancel := context.WithTimeout(s.life, loadTimeout)
		defer cancel()
		found, err := s.cache.Get(ctx, scope, otter.LoaderFunc[memory.Scope, *cachedIndex](s.load))
		switch {
		case errors.Is(err, errTooLarge):
			s.cache.Set(scope, &cachedIndex{bytes: entryBytes})
		case err == nil && found.index != nil:
			ready <- found
		case err != nil && s.life.Err() == nil:
			s.log.Warn("memories not indexed", "tenant", scope.Tenant, "error", err)
		}
	})
	return ready
}

// Drop removes the index of a user after a memory change, and restarts a running load. It keeps the mark of a user
// that is too large: a change makes no user small, and another check takes long.
func (s *IndexCache) Drop(scope memory.Scope) {
	if e, ok := s.cache.GetEntryQuietly(scope); !ok || e.Value.index != nil {
		s.cache.Invalidate(scope)
	}
}

// load creates the index of all memories of a user.
func (s *IndexCache) load(ctx context.Context, scope memory.Scope) (*cachedIndex, error) {
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.slots.Release(1)
	room := s.options.Bytes
	var memories []memory.Memory
	hidden := map[string]bool{} // the turns of quarantined entries, unless another entry has the turn, too
	for m, err := range bank.EachMemory(ctx, s.bank, scope, bank.ListOptions{Limit: bank.MaxLimit, WithVectors: true}) {
		if err != nil {
			return nil, err
		}
		for _, id := range m.Sources {
			if _, told := hidden[id]; m.Status != memory.StatusQuarantined {
				hidden[id] = false
			} else if !told {
				hidden[id] = true
			}
		}
		if m.Status == memory.StatusQuarantined {
			continue
		}
		room -= len(m.Content) + len(m.Value) + 4*len(m.Vector) // an index takes more
		if memories = append(memories, m); len(memories) > s.options.Entries || room < 0 {
			return nil, errTooLarge
		}
	}
	var turns []memory.Turn
	for t, err := range bank.EachTurn(ctx, s.bank, scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		if hidden[t.ID] {
			continue
		}
		room -= len(t.Text)
		if turns = append(turns, t); len(turns) > s.options.Entries || room < 0 {
			return nil, errTooLarge
		}
	}
	core, err := s.bank.Core(ctx, scope)
	if err != nil {
		return nil, err
	}
	index := features.New(s.table, withoutUnusable(memories), turns)
	e := &cachedIndex{
		index: index, outdated: outdated(memories, time.Now()), core: core, owner: memory.OwnerOf(scope, turns),
		projected: map[string][]byte{},
	}
	for _, l := range core.Lines {
		if at := slices.IndexFunc(memories, func(m memory.Memory) bool { return m.ID == l.Memories[0] }); at >= 0 {
			m := memories[at]
			m.Vector = nil
			e.coreMemories = append(e.coreMemories, m)
		}
	}
	e.bytes = entryBytes + 2*len(core.Content) + index.Bytes() + vectorBytes*index.Len() + outdatedBytes*len(e.outdated)
	if e.bytes+2*len(scope.Key()) > min(s.options.Bytes, math.MaxUint32) {
		return nil, errTooLarge
	}
	return e, nil
}

// project returns the encoded projection of a memory's vector. It reuses earlier results.
func (e *cachedIndex) project(p *ranking.Projector, m memory.Memory) ([]byte, error) {
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
