package bus

import "sync"

// lagTable holds the ends and the finished prefixes of a consumer's current partitions. A partition that moves to
// another member leaves the table. So two members never report it.
type lagTable struct {
	group string
	mu    sync.Mutex
	parts map[Partition]position
}

type position struct {
	end, next    int64
	known, ended bool
}

func newLagTable(group string) *lagTable {
	return &lagTable{group: group, parts: make(map[Partition]position)}
}

func (t *lagTable) update(p Partition, change func(*position)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pos := t.parts[p]
	change(&pos)
	t.parts[p] = pos
}

func (t *lagTable) end(p Partition, end int64) {
	t.update(p, func(pos *position) { pos.end, pos.ended = max(pos.end, end), true })
}

// start records the offset of the first fetch. Later fetches do not move it.
func (t *lagTable) start(p Partition, offset int64) {
	t.update(p, func(pos *position) {
		if !pos.known {
			pos.next, pos.known = offset, true
		}
	})
}

func (t *lagTable) next(p Partition, next int64) {
	t.update(p, func(pos *position) { pos.next, pos.known = max(pos.next, next), true })
}

func (t *lagTable) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.parts)
}

// each calls f with the lag of every partition with a known lag.
func (t *lagTable) each(f func(p Partition, lag int64)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, pos := range t.parts {
		if pos.known && pos.ended {
			f(p, max(0, pos.end-pos.next))
		}
	}
}
