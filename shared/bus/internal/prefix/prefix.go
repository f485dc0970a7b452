// Package prefix tracks the finished records of a partition, and the end of its finished prefix.
package prefix

import "sort"

// Tracker holds the admitted records of one partition from the first unfinished one on. The zero value is ready. It
// is not safe for concurrent use.
type Tracker struct {
	entries []entry
	head    int
	bytes   int
	next    int64
	moved   bool
}

type entry struct {
	offset int64
	size   int
	done   bool
}

// Add admits a record. Offsets must rise. Gaps are allowed, because compaction and transactions leave them. It
// returns false, and admits nothing, when the offset does not rise.
func (t *Tracker) Add(offset int64, size int) bool {
	if n := len(t.entries); n > t.head && offset <= t.entries[n-1].offset {
		return false
	}
	if t.moved && offset < t.next {
		return false
	}
	t.entries = append(t.entries, entry{offset: offset, size: size})
	t.bytes += size
	return true
}

// Done marks a record as finished. It reports false when the record is not open.
func (t *Tracker) Done(offset int64) bool {
	open := t.entries[t.head:]
	i := sort.Search(len(open), func(i int) bool { return open[i].offset >= offset })
	if i == len(open) || open[i].offset != offset || open[i].done {
		return false
	}
	open[i].done = true
	t.advance()
	return true
}

// advance drops the finished records at the front. It moves the rest only when half of the slice is free, which
// keeps its cost constant per record.
func (t *Tracker) advance() {
	for t.head < len(t.entries) && t.entries[t.head].done {
		t.bytes -= t.entries[t.head].size
		t.next, t.moved = t.entries[t.head].offset+1, true
		t.head++
	}
	if t.head > len(t.entries)/2 {
		n := copy(t.entries, t.entries[t.head:])
		t.entries, t.head = t.entries[:n], 0
	}
}

// Next returns the offset after the finished prefix, for a commit. It returns false while no record has entered the
// prefix.
func (t *Tracker) Next() (int64, bool) { return t.next, t.moved }

// Len returns how many admitted records are not part of the finished prefix.
func (t *Tracker) Len() int { return len(t.entries) - t.head }

// Bytes returns the size of those records.
func (t *Tracker) Bytes() int { return t.bytes }
