package reranker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

const (
	// keptCandidates is the maximum number of candidates in a trace, in addition to the shown ones. The others have
	// small probabilities and are not worth their bytes.
	keptCandidates = 32
	traceWriters   = 4
	// traceTimeout is the timeout of one write.
	traceTimeout = 2 * time.Second
)

// Recorder writes traces in the background, so that an order does not wait for it.
type Recorder struct {
	store   weights.Traces
	metrics Metrics
	log     *slog.Logger

	ctx    context.Context // context of the writes; it ends when the time to flush is over
	cancel context.CancelFunc
	group  sync.WaitGroup
	queue  chan kept
	mu     sync.RWMutex // guards closed, and prevents closing the queue during a write to it
	closed bool
}

type kept struct {
	scope memory.Scope
	trace ranking.Trace
}

// NewRecorder starts the writers. The caller closes the recorder.
func NewRecorder(store weights.Traces, queue int, m Metrics, log *slog.Logger) *Recorder {
	r := &Recorder{store: store, metrics: m, log: log, queue: make(chan kept, queue)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for range traceWriters {
		r.group.Go(r.write)
	}
	return r
}

// Keep queues a trace. If the queue is full, Keep drops and counts the trace. It takes ownership of the trace.
func (r *Recorder) Keep(ctx context.Context, scope memory.Scope, t ranking.Trace) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.closed {
		select {
		case r.queue <- kept{scope, t}:
			return
		default:
		}
	}
	add(ctx, r.metrics.Traces, scope.Tenant, traceDropped, 1)
}

func (r *Recorder) write() {
	failing := false
	for k := range r.queue {
		err := r.enqueue(k)
		switch {
		case err == nil:
			add(r.ctx, r.metrics.Traces, k.scope.Tenant, traceKept, 1)
		case !failing: // once per outage
			r.log.Warn("traces of recalls not written, nothing is learned from them", "error", err)
			fallthrough
		default:
			add(r.ctx, r.metrics.Traces, k.scope.Tenant, traceFailed, 1)
		}
		failing = err != nil
	}
}

func (r *Recorder) enqueue(k kept) error {
	body, err := ranking.EncodeTrace(k.trace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, traceTimeout)
	defer cancel()
	return r.store.PutTrace(ctx, k.scope, k.trace.RecallID, body)
}

// Close writes the queued traces until ctx ends.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	defer r.cancel()
	defer context.AfterFunc(ctx, r.cancel)()
	r.group.Wait()
	return ctx.Err()
}

// shorten keeps the candidates with the best scores and the chosen ones. It returns them, and the places of the
// chosen ones among them.
func shorten(all []ranking.Candidate, scores []float64, chosen []int) (candidates []ranking.Candidate, shown []int) {
	best := ranking.Top(all, scores, keptCandidates)
	for _, c := range chosen {
		if !slices.Contains(best, c) {
			best = append(best, c)
		}
	}
	for _, c := range best {
		candidates = append(candidates, all[c])
	}
	for _, c := range chosen {
		shown = append(shown, slices.Index(best, c))
	}
	return candidates, shown
}
