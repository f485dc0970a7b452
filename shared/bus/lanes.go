package bus

import (
	"context"
	"sync"

	"github.com/mneme-memory/mneme/shared/bus/internal/prefix"
)

// keyedWorkers runs the work of one partition: a queue for each key that has records, and workers
// that exist only while a queue is ready. A key is in the hands of one worker at a time.
type keyedWorkers struct {
	cfg    Config
	limit  int
	handle func(ctx context.Context, batch []Message) bool

	mu      sync.Mutex
	byKey   map[string]*lane
	ready   []*lane
	running int
	tracker prefix.Tracker
	room    chan struct{} // signalled when the tracker shrinks
	workers sync.WaitGroup
}

type lane struct {
	key     string
	pending []Message
	busy    bool
}

// newKeyedWorkers runs at most limit workers. handle reports whether the batch is finished; it is
// false only when ctx is done.
func newKeyedWorkers(cfg Config, limit int, handle func(context.Context, []Message) bool) *keyedWorkers {
	return &keyedWorkers{
		cfg: cfg, limit: limit, handle: handle,
		byKey: make(map[string]*lane), room: make(chan struct{}, 1),
	}
}

// admit queues a message once the bounds leave room for it. ctx ends the waiting, work is
// what the handlers see. It reports whether the message was queued.
func (l *keyedWorkers) admit(ctx, work context.Context, m Message) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		if l.tryAdmit(work, m) {
			return true
		}
		select {
		case <-ctx.Done():
		case <-l.room:
		}
	}
}

func (l *keyedWorkers) tryAdmit(work context.Context, m Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.tracker.Len() >= l.cfg.MaxInFlight || l.tracker.Bytes()+m.Size() > l.cfg.MaxInFlightBytes
	if full && l.tracker.Len() > 0 {
		return false
	}
	if !l.tracker.Add(m.Offset, m.Size()) {
		return true // delivered before in this generation: nothing to do
	}
	ln := l.byKey[string(m.Key)]
	if ln == nil {
		ln = &lane{key: string(m.Key)}
		l.byKey[ln.key] = ln
	}
	ln.pending = append(ln.pending, m)
	if !ln.busy && len(ln.pending) == 1 {
		l.ready = append(l.ready, ln)
	}
	if l.running < l.limit && len(l.ready) > 0 {
		l.running++
		l.workers.Go(func() { l.run(work) })
	}
	return true
}

func (l *keyedWorkers) run(ctx context.Context) {
	for {
		ln, batch := l.take(ctx)
		if ln == nil {
			return
		}
		finished := l.handle(ctx, batch)
		l.finish(ln, batch, finished)
	}
}

// take gives the caller the next batch, or ends its run. Both happen under the lock, so that
// admit never counts on a worker that is about to leave.
func (l *keyedWorkers) take(ctx context.Context) (*lane, []Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ready) == 0 || ctx.Err() != nil {
		l.running--
		return nil, nil
	}
	ln := l.ready[0]
	l.ready = l.ready[1:]
	ln.busy = true
	n, size := 1, ln.pending[0].Size()
	for n < len(ln.pending) && n < l.cfg.MaxBatch {
		size += ln.pending[n].Size()
		if size > l.cfg.MaxBatchBytes {
			break
		}
		n++
	}
	batch := ln.pending[:n:n]
	ln.pending = ln.pending[n:]
	return ln, batch
}

// finish counts the batch as done and puts its lane behind the others that are ready. A lane
// whose batch is unfinished is not continued: its later records must not overtake.
func (l *keyedWorkers) finish(ln *lane, batch []Message, finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !finished {
		return
	}
	for _, m := range batch {
		l.tracker.Done(m.Offset)
	}
	ln.busy = false
	if len(ln.pending) > 0 {
		l.ready = append(l.ready, ln)
	} else {
		delete(l.byKey, ln.key)
	}
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// next returns the offset that may be committed, and whether there is one.
func (l *keyedWorkers) next() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tracker.Next()
}

// idle returns a channel that is closed when no worker runs. No message may be admitted later.
func (l *keyedWorkers) idle() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		l.workers.Wait()
		close(done)
	}()
	return done
}
