package reranker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/tenant"
)

const (
	maxCandidates = 200
	maxMemories   = 100
	// exploreFrom is the minimum number of shown memories for exploration in the last place.
	exploreFrom = 5
)

// Server is the RerankerService. Calls must be authenticated: the context has the tenant.
type Server struct {
	mnemev1connect.UnimplementedRerankerServiceHandler
	// Cache has the weights.
	Cache *Cache
	// Recorder writes the traces.
	Recorder *Recorder
	// Updater changes weights.
	Updater *Updater
	// Explore is the share of fully drawn orders, and ExploreLast is the share of orders with a drawn last place. They
	// apply to tenants without own values; see Settings.
	Explore, ExploreLast float64
	Settings             ranking.Settings
	Metrics              Metrics
	Log                  *slog.Logger
}

// Rerank implements the RPC.
func (s *Server) Rerank(
	ctx context.Context, req *connect.Request[mnemev1.RerankRequest],
) (*connect.Response[mnemev1.RerankResponse], error) {
	t, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	scope := memory.Scope{Tenant: t.ID, User: req.Msg.GetUserId()}
	if err := memory.ValidUser(scope.User); err != nil {
		return nil, rpcerror.From(err)
	}
	query, candidates, groups, err := s.read(req.Msg)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	w, unavailable := s.Cache.Weights(ctx, scope.Tenant)
	if unavailable {
		add(ctx, s.Metrics.Degraded, scope.Tenant, weightsUnavailable, 1)
	}
	if !fits(w, query) {
		w.Aq, w.Am = nil, nil
		add(ctx, s.Metrics.Degraded, scope.Tenant, mapsDoNotFit, 1)
	}
	scores, err := w.Scores(query, candidates)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	// The spread scores go into the trace, so that learning uses this order.
	ranking.Spread(candidates, scores, groups, s.Settings.Spread)
	order, tried, explored := s.order(ranking.Chance(t.ID, req.Msg.GetRecallId()), t, candidates, scores,
		int(req.Msg.GetMemories()))
	res := &mnemev1.RerankResponse{WeightsVersion: label(w), Explored: explored}
	if explored {
		add(ctx, s.Metrics.Explored, scope.Tenant, exploredOrder, 1)
	} else if tried.Place > 0 {
		add(ctx, s.Metrics.Explored, scope.Tenant, exploredLast, 1)
	}
	for i, c := range order {
		res.Ranked = append(res.Ranked, &mnemev1.RankedMemory{MemoryId: candidates[c].ID, Score: scores[c],
			Explored: i+1 == tried.Place})
	}
	if len(order) > 0 && !req.Msg.GetUntraced() {
		trace := ranking.Trace{
			RecallID: req.Msg.GetRecallId(), FeatureSet: w.FeatureSet, WeightsVersion: w.Version, Query: query,
			Explored: explored, Tried: tried,
		}
		trace.Candidates, trace.Shown = shorten(candidates, scores, order)
		s.Recorder.Keep(ctx, scope, trace)
	}
	return connect.NewResponse(res), nil
}

// order sorts by score. It sometimes draws the whole order or the last place.
func (s *Server) order(
	chance *rand.Rand, t tenant.Tenant, candidates []ranking.Candidate, scores []float64, k int,
) (order []int, tried ranking.Tried, explored bool) {
	if chance.Float64() < s.Explore {
		return s.Settings.Sample(chance, candidates, scores, k), tried, true
	}
	order = ranking.Top(candidates, scores, k)
	if k >= exploreFrom && chance.Float64() < t.Explore.Share(s.ExploreLast) {
		order, tried = s.Settings.Try(chance, scores, order)
	}
	return order, tried, false
}

// caller returns the authenticated tenant of a call.
func caller(ctx context.Context) (tenant.Tenant, error) {
	t, ok := tenant.FromContext(ctx)
	if !ok {
		return tenant.Tenant{}, connect.NewError(connect.CodeUnauthenticated, tenant.ErrUnknownKey)
	}
	return t, nil
}

// fits reports whether the maps have the width of the query's vector.
func fits(w ranking.Weights, query []float32) bool {
	return len(query) == 0 || len(w.Aq) == 0 || len(w.Aq) == len(query)*len(query)
}

// read checks a request, and returns its numbers.
func (s *Server) read(
	req *mnemev1.RerankRequest,
) (query []float32, candidates []ranking.Candidate, groups []uint32, err error) {
	if err := s.check(req); err != nil {
		return nil, nil, nil, err
	}
	if query, err = ranking.DecodeVector(req.GetQueryVector()); err != nil {
		return nil, nil, nil, fault.Terminal("query_vector", "%w", err)
	}
	candidates, groups = make([]ranking.Candidate, len(req.GetCandidates())), make([]uint32, len(req.GetCandidates()))
	seen := make(map[string]bool, len(candidates))
	for i, c := range req.GetCandidates() {
		id := c.GetMemoryId()
		if err := memory.ValidText("candidates.memory_id", id, ranking.MaxIDBytes); err != nil {
			return nil, nil, nil, err
		}
		if seen[id] {
			return nil, nil, nil, fault.Terminal("candidates.memory_id", "is repeated, want each memory once")
		}
		seen[id] = true
		vector, err := ranking.DecodeVector(c.GetVector())
		if err != nil {
			return nil, nil, nil, fault.Terminal("candidates.vector", "%w", err)
		}
		candidates[i] = ranking.Candidate{ID: id, Features: c.GetFeatures(), Projected: vector, Cosine: c.GetCosine()}
		groups[i] = c.GetGroup()
	}
	return query, candidates, groups, nil
}

func (s *Server) check(req *mnemev1.RerankRequest) error {
	if n := len(req.GetCandidates()); n > maxCandidates {
		return fault.Terminal("candidates", "has %d entries, want at most %d", n, maxCandidates)
	}
	if n := req.GetMemories(); n < 1 || n > maxMemories {
		return fault.Terminal("memories", "is %d, want 1 to %d", n, maxMemories)
	}
	if err := memory.ValidText("recall_id", req.GetRecallId(), memory.MaxIDBytes); err != nil {
		return err
	}
	if want := s.Cache.prior.Weights.FeatureSet; req.GetFeatureSet() != want {
		return fault.Terminal("feature_set", "is %q, want %q", req.GetFeatureSet(), want)
	}
	return nil
}

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
