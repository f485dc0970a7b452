package windowtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

const writers = 8

func (s *suite) concurrentBatches(t *testing.T) {
	w, scope := s.factory(t, wide).Window, s.scope()
	batch := make([]memory.Turn, 20)
	for i := range batch {
		batch[i] = turn(fmt.Sprintf("t%02d", i), time.Duration(i)*time.Second)
	}
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range 5 {
				if err := w.Append(t.Context(), scope, batch); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	group.Wait()
	wantIDs(t, w, scope, ids(batch)...)
}

// atomicBatches adds batches of one size in several writers while readers read: a reader must see whole batches only.
func (s *suite) atomicBatches(t *testing.T) {
	const size, rounds = 7, 10
	w, scope := s.factory(t, wide).Window, s.scope()
	done := make(chan struct{})
	var readers, group sync.WaitGroup
	readers.Go(func() {
		for {
			turns, err := w.Recent(t.Context(), scope, time.Time{})
			if err != nil || len(turns)%size != 0 {
				t.Errorf("read %d turns (error %v), want a multiple of %d", len(turns), err, size)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for writer := range writers {
		group.Go(func() { s.writeBatches(t, w.Append, scope, writer, rounds, size) })
	}
	group.Wait()
	close(done)
	readers.Wait()
	if got := len(recent(t, w, scope)); got != writers*rounds*size {
		t.Fatalf("window has %d turns, want %d", got, writers*rounds*size)
	}
}

// writeBatches is one writer of atomicBatches.
func (s *suite) writeBatches(t *testing.T, write appendFunc, scope memory.Scope, writer, rounds, size int) {
	for round := range rounds {
		batch := make([]memory.Turn, size)
		for i := range batch {
			batch[i] = turn(fmt.Sprintf("%d-%d-%d", writer, round, i), time.Duration(round)*time.Second)
		}
		if err := write(t.Context(), scope, batch); err != nil {
			t.Errorf("append: %v", err)
		}
	}
}

type appendFunc func(ctx context.Context, scope memory.Scope, turns []memory.Turn) error
