package deadletters

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// index holds the places of waiting letters by turn. Clients poll the status of turns, and the index avoids a scan
// of all letters. It reads each letter once, and keeps about 100 bytes for each waiting letter.
type index struct {
	log     bus.Log
	offsets Offsets
	fresh   time.Duration
	now     func() time.Time
	// reading is held while the index is brought up to date.
	reading chan struct{}

	mu     sync.Mutex
	asked  time.Time // time of the last update; zero requests an update
	places map[turnKey]place
	first  map[int]int64 // where waiting letters begin, by partition
	next   map[int]int64 // next offset to read, by partition
}

// turnKey is a turn of a user.
type turnKey [sha256.Size]byte

func keyOf(scope memory.Scope, turn string) turnKey {
	return sha256.Sum256([]byte(memory.DeriveTurnID(scope, turn)))
}

func newIndex(p Parts) *index {
	return &index{
		log: p.Log, offsets: p.Offsets, fresh: p.Fresh, now: p.Now, reading: make(chan struct{}, 1),
		places: map[turnKey]place{}, first: map[int]int64{}, next: map[int]int64{},
	}
}

// find returns where the newest letter of a turn waits.
func (i *index) find(ctx context.Context, scope memory.Scope, turn string) (place, bool, error) {
	if err := i.refresh(ctx); err != nil {
		return place{}, false, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	at, ok := i.places[keyOf(scope, turn)]
	return at, ok, nil
}

// expire says that something has changed.
func (i *index) expire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = time.Time{}
}

func (i *index) current() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := i.now().Sub(i.asked)
	return age >= 0 && age < i.fresh
}

// refresh reads the records since the last refresh. Concurrent callers wait for one reader.
func (i *index) refresh(ctx context.Context) error {
	if i.current() {
		return nil
	}
	select {
	case i.reading <- struct{}{}:
		defer func() { <-i.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if i.current() {
		return nil
	}
	asked := i.now()
	committed, err := i.offsets.Committed(ctx)
	if err != nil {
		return err
	}
	partitions, err := i.log.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if err := i.read(ctx, p, committed[p]); err != nil {
			return err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = asked
	return nil
}

// read continues in a partition, and drops letters that no longer wait.
func (i *index) read(ctx context.Context, partition int, committed int64) error {
	first, end, err := i.log.Bounds(ctx, partition)
	if err != nil {
		return err
	}
	from := i.begin(partition, max(first, committed), end)
	for from < end {
		msgs, next, err := i.log.Read(ctx, partition, from)
		if err != nil {
			return err
		}
		i.store(partition, msgs, next)
		from = next
	}
	return nil
}

// begin notes where waiting letters begin, and returns where to read on.
func (i *index) begin(partition int, first, end int64) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	anew := end < i.next[partition] // the topic was made anew
	if anew || first > i.first[partition] {
		for turn, at := range i.places {
			if at.partition == partition && (anew || at.offset < first) {
				delete(i.places, turn)
			}
		}
	}
	i.first[partition] = first
	if anew {
		i.next[partition] = first
	}
	i.next[partition] = max(i.next[partition], first)
	return i.next[partition]
}

func (i *index) store(partition int, msgs []bus.Message, next int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range msgs {
		o, ok := ownedOf(m)
		if !ok || o.scope.User == "" {
			continue
		}
		if turn := o.turn(); turn != "" {
			i.places[keyOf(o.scope, turn)] = place{partition, m.Offset}
		}
	}
	i.next[partition] = next
}
