package bus

import "sync"

// lagTable holds, for the partitions a consumer has now, where they end and how far they are
// finished. A partition that another member has now leaves the table, so that two members never report it.
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

// start says where the first fetch began; later fetches do not move it.
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

// each calls f with the lag of every partition for which it is known.
func (t *lagTable) each(f func(p Partition, lag int64)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, pos := range t.parts {
		if pos.known && pos.ended {
			f(p, max(0, pos.end-pos.next))
		}
	}
}
