package utilizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/text"
)

// Policies finds the query-time policies of a tenant's policy name.
type Policies func(policy tenant.Policy) (recall.Profiler, recall.Generator, error)

// Recaller creates a profile for a query. It searches bank and window in parallel, reranks the candidates and writes
// the profile. It omits unavailable parts and reports them.
type Recaller struct {
	Bank     bank.Bank
	Window   window.Window
	Embedder embedding.Embedder
	Ranker   Ranker
	Policies Policies
	// Fallback writes the profile if the tenant's policy fails.
	Fallback recall.Profiler
	// Indexes has the memories of users with recent recalls.
	Indexes *IndexCache
	// Learned has the tenants' weights, which select the candidates.
	Learned *LearnedWeights
	// Prior is the initial weights of the reranker. It orders the candidates while the reranker is unavailable.
	Prior ranking.Weights
	// Support estimates whether the candidates answer the query. Relevance estimates how likely a request needs them.
	Support   features.Support
	Relevance features.Relevance
	Projector *ranking.Projector
	Tracer    trace.Tracer
	Metrics   Metrics
	Log       *slog.Logger
	// Alpha is the weight of vectors against words in retrieval, 0 to 1.
	Alpha float32
	// Floor is the probability, 0 to 1, up to which the least likely memories are removed from the result of a request
	// to an assistant, and of every question that a model answers.
	Floor float64
	// OwnPlaces is the maximum number of separate places for constraints, and for preferences, in a request's result.
	// These places follow the best memories. A recall of fewer than five memories has two in five of its number.
	OwnPlaces int
	// RankTimeout, WindowTimeout and IndexTimeout limit the optional parts of a recall. WindowTimeout also limits the
	// core block.
	RankTimeout, WindowTimeout, IndexTimeout time.Duration
	// Reserve is the rest of a caller's deadline at which a model's profile is given up for a profile without a model.
	Reserve time.Duration
	// AnswerTime is the time that a caller's deadline must leave for a model to write an answer's profile. The profile
	// gets at most half of it. Without a deadline there is always time.
	AnswerTime time.Duration
	Now        func() time.Time
}

// Request is a checked query.
type Request struct {
	User, Query string
	// Messages are the last turns of the query's conversation, oldest first.
	Messages                         []memory.Message
	Candidates, Memories, WordBudget int
	// Filter selects the memories that may be shown. The zero filter selects all.
	Filter memory.Filter
	// AsOf is the time of the question. If it is zero, the query text determines the time.
	AsOf time.Time
	// Answered means that an answer is generated from the profile. A model that writes the profile leaves time for it.
	Answered bool
	// Unranked keeps the memories in the order of the bank's search.
	Unranked bool
	// Diagnosed marks a recall for a diagnosis: nothing is learned from it.
	Diagnosed bool
	// ID is the recall's id. It seeds the random choices. Empty means a new id.
	ID string
	// asked is the understood query. Recall sets it.
	asked query.Query
	// chooser has the feature weights for the selection of candidates. Recall sets it.
	chooser []float32
	// modelled means that a model writes the profile. Recall sets it.
	modelled bool
}

// Result is a profile with its origin.
type Result struct {
	ID       string
	Profile  recall.Profile
	Evidence recall.Evidence
	// Retrieved are the candidates in order of retrieval. Ranked are the candidates shown to the profiler, best first.
	Retrieved, Ranked []bank.Scored
	// Floored has the ids of memories with a place that the relevance floor removed.
	Floored []string
	// Window is working memory, oldest first, including turns that are among the messages.
	Window []memory.Turn
	// Weights names the version of the weights that ordered them. It is empty without the reranker.
	Weights string
	// Explored is a random memory that is shown for exploration and would not be shown otherwise. It is empty without
	// exploration.
	Explored string
	// Scores has the ranker's score of every evidence memory by id.
	Scores   map[string]float64
	Degraded []string
	// Searched is true if the candidates come from the bank's search, not from all memories of the user.
	Searched bool
	TraceID  string
	// Latency is the duration of the whole recall. Profiling is the part for writing the profile.
	Latency, Profiling time.Duration
}

// Recall answers a query. It fails if the user's memories are in neither the index cache nor the bank, or if the
// embedding fails. Other failures only degrade the result.
func (r *Recaller) Recall(ctx context.Context, t tenant.Tenant, q Request) (Result, error) {
	start := time.Now()
	ctx, span := r.Tracer.Start(ctx, telemetry.SpanRecall, trace.WithAttributes(telemetry.AttrTenant.String(t.ID)))
	defer span.End()
	scope := memory.Scope{Tenant: t.ID, User: q.User}
	out := Result{ID: cmp.Or(q.ID, uuid.NewString()), TraceID: span.SpanContext().TraceID().String()}
	q.asked = query.Understand(query.Input{Text: q.Query, Messages: q.Messages, AsOf: q.AsOf, Now: r.Now().UTC()})
	q.chooser = r.Learned.Of(ctx, t.ID).W
	q.modelled = t.Policy.Kind() != tenant.PolicyEmbedded
	found, err := r.retrieve(ctx, scope, q, &out)
	if err != nil {
		span.SetStatus(codes.Error, "bank unavailable")
		return Result{}, err
	}
	out.Searched, out.Window = found.from == nil, found.turns
	ranked := r.order(ctx, q, found, &out)
	places := ranked
	if found.request && q.asked.Horizon.Intent != intent.Past {
		places = withStores(found, places, r.OwnPlaces)
	}
	places = aboveFloor(found, places, &out)
	if !q.Unranked {
		places = withNewer(found, ranked, places, q, out.Explored)
	}
	out.Floored = withoutShown(out.Floored, found, places)
	if q.asked.Horizon.Intent != intent.Past {
		if err := r.dropOutdated(ctx, scope, &found, places); found.turnsErr == nil {
			r.degrade(ctx, &out, DialogueUnavailable, err)
		}
	}
	holdBack(&found, places)
	shown := show(found, places, &out)
	out.Evidence = recall.Evidence{
		Query: q.asked, Filter: q.Filter, Memories: make([]memory.Memory, len(shown)), Explored: out.Explored,
		Current: currentOf(found, shown, q),
		Window:  matching(q.Filter, withoutMessages(found.turns, q.Messages)),
		Core:    found.core, CoreMemories: found.coreMemories, WordBudget: q.WordBudget,
		Support: found.support, Best: found.best, Request: found.request, Owner: found.owner,
	}
	out.Scores = make(map[string]float64, len(shown))
	for i, s := range shown {
		out.Evidence.Memories[i], out.Scores[s.Memory.ID] = s.Memory, s.Score
	}
	out.Evidence.Replaced = found.replacedBy(slices.Concat(out.Evidence.Memories, found.coreMemories))
	began := time.Now()
	if err := r.profile(ctx, t, scope, q, &out); err != nil {
		return Result{}, err
	}
	out.Profiling = time.Since(began)
	link(span, out.Profile.Cited)
	span.SetAttributes(telemetry.AttrCandidates.Int(len(found.candidates)),
		telemetry.AttrIntent.String(q.asked.Horizon.Intent.String()), telemetry.AttrWants.StringSlice(q.asked.Wants),
		telemetry.AttrCited.Int(len(out.Profile.Cited)), telemetry.AttrDegraded.StringSlice(out.Degraded))
	out.Latency = time.Since(start)
	r.Metrics.Time.Record(ctx, out.Latency.Seconds(), metric.WithAttributes(telemetry.AttrTenant.String(t.ID)))
	return out, nil
}

// withoutMessages removes turns that are among the messages from working memory, because the caller has them.
func withoutMessages(turns []memory.Turn, messages []memory.Message) []memory.Turn {
	if len(messages) == 0 {
		return turns
	}
	said := make(map[string]bool, len(messages))
	for _, m := range messages {
		said[text.OneLine(m.Content)] = true
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return said[text.OneLine(t.Text)] })
}

// matching returns the turns of working memory that match a filter.
func matching(f memory.Filter, turns []memory.Turn) []memory.Turn {
	if f.IsZero() {
		return turns
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return !f.MatchTurn(t) })
}

// profile writes the profile with the tenant's policy if that succeeds in time.
func (r *Recaller) profile(ctx context.Context, t tenant.Tenant, scope memory.Scope, q Request, out *Result) error {
	profiler, _, err := r.Policies(t.Policy)
	if err != nil {
		return err
	}
	bounded := ctx
	if deadline, ok := ctx.Deadline(); ok && q.modelled {
		left := time.Until(deadline)
		if q.Answered && left < r.AnswerTime { // the answer is more important than the method of its profile
			out.Profile, err = r.Fallback.Profile(ctx, scope, out.Evidence)
			return err
		}
		reserve := r.Reserve
		if q.Answered {
			reserve = max(reserve, left/2)
		}
		var cancel context.CancelFunc
		bounded, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	out.Profile, err = profiler.Profile(bounded, scope, out.Evidence)
	if err == nil || ctx.Err() != nil {
		return err
	}
	what := ModelUnavailable
	switch {
	case errors.Is(err, fault.ErrBudget):
		what = ModelBudget
	case bounded.Err() != nil:
		what = ModelTooSlow
	}
	r.degrade(ctx, out, what, err)
	out.Profile, err = r.Fallback.Profile(ctx, scope, out.Evidence)
	return err
}

// answer writes an answer with the tenant's policy, if the budget allows it and the model gives one.
func (r *Recaller) answer(
	ctx context.Context, t tenant.Tenant, scope memory.Scope, out *Result,
) (recall.Answer, tenant.Policy, error) {
	_, generator, err := r.Policies(t.Policy)
	if err != nil {
		return recall.Answer{}, t.Policy, fmt.Errorf("choose generator: %w", err)
	}
	answer, err := generator.Answer(ctx, scope, out.Evidence, out.Profile)
	var what Degradation
	switch {
	case errors.Is(err, fault.ErrBudget):
		what = ModelBudget
	case errors.Is(err, fault.ErrUnusableAnswer): // a retry would fail, too: a content filter refuses it, for example
		what = ModelUnusable
	default:
		return answer, t.Policy, err
	}
	if !slices.Contains(out.Degraded, string(what)) {
		r.degrade(ctx, out, what, err)
	}
	if _, generator, err = r.Policies(tenant.PolicyEmbedded); err == nil {
		answer, err = generator.Answer(ctx, scope, out.Evidence, out.Profile)
	}
	return answer, tenant.PolicyEmbedded, err
}

// degrade reports the missing part to the caller, and the reason to the operator. Without an error it does nothing.
func (r *Recaller) degrade(ctx context.Context, out *Result, what Degradation, err error) {
	if err == nil {
		return
	}
	out.Degraded = append(out.Degraded, string(what))
	r.Metrics.Degraded.Add(ctx, 1, metric.WithAttributes(telemetry.AttrDegraded.String(string(what))))
	r.Log.WarnContext(ctx, "recall degraded", "what", string(what), "meaning", what.String(), "error", err)
}

// link links the recall's trace to the traces that formed the shown memories.
func link(span trace.Span, cited []memory.Memory) {
	seen := map[string]bool{}
	for _, m := range cited {
		tid, err1 := trace.TraceIDFromHex(m.TraceID)
		sid, err2 := trace.SpanIDFromHex(m.SpanID)
		if err1 != nil || err2 != nil || seen[m.TraceID] {
			continue
		}
		seen[m.TraceID] = true
		span.AddLink(trace.Link{
			SpanContext: trace.NewSpanContext(
				trace.SpanContextConfig{TraceID: tid, SpanID: sid, TraceFlags: trace.FlagsSampled, Remote: true},
			),
			Attributes: []attribute.KeyValue{telemetry.AttrMemoryID.String(m.ID)},
		})
	}
}
