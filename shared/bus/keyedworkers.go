package bus

import (
	"context"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/bus/internal/prefix"
)

// keyedWorkers runs the work of one partition. It has a queue for each key with records, and workers only while a
// queue is ready. One worker at a time handles a key.
type keyedWorkers struct {
	cfg    Config
	limit  int
	handle func(ctx context.Context, batch []Message) bool

	mu      sync.Mutex
	byKey   map[string]*keyQueue
	ready   []*keyQueue
	running int
	tracker prefix.Tracker
	room    chan struct{} // signalled when the tracker shrinks
	workers sync.WaitGroup
	// gathering counts the timers that run.
	gathering sync.WaitGroup
}

// keyQueue is the queue of a key. It is gathering while it has a timer. Then it is ready until a worker takes it,
// and busy in a worker.
type keyQueue struct {
	key         string
	pending     []Message
	bytes       int // of pending
	gathering   *time.Timer
	ready, busy bool
}

// newKeyedWorkers runs at most limit workers. The function handle reports whether the batch is finished. It returns
// false only when ctx is done.
func newKeyedWorkers(cfg Config, limit int, handle func(context.Context, []Message) bool) *keyedWorkers {
	return &keyedWorkers{
		cfg: cfg, limit: limit, handle: handle, byKey: make(map[string]*keyQueue), room: make(chan struct{}, 1),
	}
}

// admit queues a message once the bounds leave room for it. The context ctx ends the wait, and the handlers get
// work. admit reports whether it queued the message.
func (w *keyedWorkers) admit(ctx, work context.Context, m Message) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		if w.tryAdmit(work, m) {
			return true
		}
		select {
		case <-ctx.Done():
		case <-w.room:
		}
	}
}

func (w *keyedWorkers) tryAdmit(work context.Context, m Message) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := w.tracker.Len() >= w.cfg.MaxInFlight || w.tracker.Bytes()+m.Size() > w.cfg.MaxInFlightBytes
	if full && w.tracker.Len() > 0 {
		return false
	}
	if !w.tracker.Add(m.Offset, m.Size()) {
		return true // delivered before in this generation: there is no work left
	}
	q := w.byKey[string(m.Key)]
	if q == nil {
		q = &keyQueue{key: string(m.Key)}
		w.byKey[q.key] = q
	}
	q.pending = append(q.pending, m)
	q.bytes += m.Size()
	if q.busy || q.ready {
		return true
	}
	wait := time.Duration(0)
	if w.cfg.Gather != nil && len(q.pending) < w.cfg.MaxBatch && q.bytes < w.cfg.MaxBatchBytes {
		wait = w.cfg.Gather(m)
	}
	switch {
	case wait <= 0:
		w.makeReady(work, q)
	case q.gathering == nil:
		w.gathering.Add(1)
		q.gathering = time.AfterFunc(wait, func() {
			defer w.gathering.Done()
			w.mu.Lock()
			defer w.mu.Unlock()
			if q.gathering != nil {
				w.makeReady(work, q)
			}
		})
	}
	return true
}

// makeReady ends the gathering of a queue and makes a worker available for it.
func (w *keyedWorkers) makeReady(work context.Context, q *keyQueue) {
	if q.gathering != nil {
		if q.gathering.Stop() {
			w.gathering.Done() // its function will not run
		}
		q.gathering = nil
	}
	q.ready = true
	w.ready = append(w.ready, q)
	if w.running < w.limit {
		w.running++
		w.workers.Go(func() { w.run(work) })
	}
}

// flush releases all gathering queues to the workers at once. No message may be admitted later.
func (w *keyedWorkers) flush(work context.Context) {
	w.mu.Lock()
	for _, q := range w.byKey {
		if q.gathering != nil {
			w.makeReady(work, q)
		}
	}
	w.mu.Unlock()
	w.gathering.Wait() // timers that have fired do nothing
}

func (w *keyedWorkers) run(ctx context.Context) {
	for {
		q, batch := w.nextBatch(ctx)
		if q == nil {
			return
		}
		finished := w.handle(ctx, batch)
		w.finish(q, batch, finished)
	}
}

// nextBatch gives the caller the next batch, or ends its run. Both happen under the lock. So admit never relies on a
// worker that is about to leave.
func (w *keyedWorkers) nextBatch(ctx context.Context) (*keyQueue, []Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ready) == 0 || ctx.Err() != nil {
		w.running--
		return nil, nil
	}
	q := w.ready[0]
	w.ready = w.ready[1:]
	q.ready, q.busy = false, true
	n, size := 1, q.pending[0].Size()
	for n < len(q.pending) && n < w.cfg.MaxBatch {
		size += q.pending[n].Size()
		if size > w.cfg.MaxBatchBytes {
			break
		}
		n++
	}
	batch := q.pending[:n:n]
	q.pending = q.pending[n:]
	for _, m := range batch {
		q.bytes -= m.Size()
	}
	return q, batch
}

// finish counts the batch as done and puts its queue behind the other ready queues. A queue with an unfinished
// batch does not continue: its later records must not overtake.
func (w *keyedWorkers) finish(q *keyQueue, batch []Message, finished bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !finished {
		return
	}
	for _, m := range batch {
		w.tracker.Done(m.Offset)
	}
	q.busy = false
	if len(q.pending) > 0 { // these waited for the batch before
		q.ready = true
		w.ready = append(w.ready, q)
	} else {
		delete(w.byKey, q.key)
	}
	select {
	case w.room <- struct{}{}:
	default:
	}
}

// next returns the offset to commit. It returns false when there is none.
func (w *keyedWorkers) next() (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Next()
}

// idle returns a channel that is closed when no worker runs. No message may be admitted later, and none may be
// gathering.
func (w *keyedWorkers) idle() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		w.workers.Wait()
		close(done)
	}()
	return done
}
