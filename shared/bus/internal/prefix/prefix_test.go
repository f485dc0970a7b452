package prefix_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/bus/internal/prefix"
)

// TestTrackerEqualsItsModel finishes records in any order and compares with a plain list.
func TestTrackerEqualsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type record struct {
			offset int64
			size   int
			done   bool
		}
		var tracker prefix.Tracker
		var model []record
		next := rapid.Int64Range(0, 1<<40).Draw(t, "first")
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				next += rapid.Int64Range(0, 3).Draw(t, "gap")
				size := rapid.IntRange(0, 1000).Draw(t, "size")
				if !tracker.Add(next, size) {
					t.Fatalf("offset %d was refused", next)
				}
				model = append(model, record{offset: next, size: size})
				next++
			},
			"add an old one": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				old := rapid.SampledFrom(model).Draw(t, "old").offset
				if tracker.Add(old, 1) {
					t.Fatalf("offset %d was admitted twice", old)
				}
			},
			"finish": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				if got := tracker.Done(model[i].offset); got == model[i].done {
					t.Fatalf("finishing %d reported %v", model[i].offset, got)
				}
				model[i].done = true
			},
			"": func(t *rapid.T) {
				prefixLen := slices.IndexFunc(model, func(r record) bool { return !r.done })
				if prefixLen < 0 {
					prefixLen = len(model)
				}
				bytes := 0
				for _, r := range model[prefixLen:] {
					bytes += r.size
				}
				if tracker.Len() != len(model)-prefixLen || tracker.Bytes() != bytes {
					t.Fatalf("open: %d records, %d bytes; want %d, %d", tracker.Len(), tracker.Bytes(), len(model)-prefixLen, bytes)
				}
				got, ok := tracker.Next()
				if ok != (prefixLen > 0) || ok && got != model[prefixLen-1].offset+1 {
					t.Fatalf("next is %d, %v with a prefix of %d", got, ok, prefixLen)
				}
			},
		})
	})
}

func TestDoneRefusesWhatWasNeverAdded(t *testing.T) {
	var tracker prefix.Tracker
	tracker.Add(3, 1)
	for _, offset := range []int64{-1, 0, 2, 4} {
		if tracker.Done(offset) {
			t.Errorf("offset %d was finished", offset)
		}
	}
	if _, ok := tracker.Next(); ok {
		t.Error("there is a prefix although nothing is finished")
	}
}

func BenchmarkTracker(b *testing.B) {
	var tracker prefix.Tracker
	const window = 512
	for i := range int64(b.N) {
		tracker.Add(i, 1000)
		if i%window == window-1 {
			for j := i; j > i-window; j-- {
				tracker.Done(j)
			}
		}
	}
}
