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

	"github.com/mneme-memory/mneme/shared/conversation"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
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

// Recaller turns a query into a profile: it searches bank and window side by side, has the candidates
// reranked and the profile written. What is unavailable is left out, and said to be.
type Recaller struct {
	Bank     bank.Bank
	Window   window.Window
	Embedder embedding.Embedder
	Ranker   Ranker
	Policies Policies
	// Fallback writes the profile when the tenant's own policy cannot.
	Fallback recall.Profiler
	// Indexes has the memories of users who were asked lately.
	Indexes *IndexCache
	// Learned are the tenants' weights, which choose the candidates.
	Learned *LearnedWeights
	// Prior is the shared start of the reranker's weights: it orders the candidates while the reranker is unavailable.
	Prior ranking.Weights
	// Support says whether the candidates answer, Relevance how likely a request needs them.
	Support   features.Support
	Relevance features.Relevance
	Projector *ranking.Projector
	Tracer    trace.Tracer
	Metrics   Metrics
	Log       *slog.Logger
	// Alpha weighs vector against words in retrieval, 0 to 1.
	Alpha float32
	// Floor is the chance, 0 to 1, up to which the least likely memories are left out of what a request is shown.
	Floor float64
	// OwnPlaces is how many places constraints and preferences each have of their own at most in what a request is shown, behind the best of
	// all; a recall that asks for fewer than five memories has two in five of so many.
	OwnPlaces int
	// RankTimeout, WindowTimeout and IndexTimeout bound what recall can do without; WindowTimeout the core block, too.
	RankTimeout, WindowTimeout, IndexTimeout time.Duration
	// Reserve is what is left of a caller's deadline when a profile that a model writes is given up for one that none does.
	Reserve time.Duration
	// AnswerTime is what a caller's deadline has to leave for an answer's profile to be written by a model: half of it is the profile's at
	// most. Without a deadline there is always time.
	AnswerTime time.Duration
	Now        func() time.Time
}

// Request is a checked query.
type Request struct {
	User, Query string
	// Messages are the last turns of the conversation that the query belongs to, oldest first.
	Messages                         []memory.Message
	Candidates, Memories, WordBudget int
	// Filter chooses what may be shown; the zero filter chooses all.
	Filter memory.Filter
	// AsOf is the time that the query asks about; zero leaves it to the query.
	AsOf time.Time
	// Answered says that an answer is made from the profile: a model that writes it leaves time for that.
	Answered bool
	// Unranked leaves the memories in the order of the bank's search.
	Unranked bool
	// Diagnosed says that the recall is made to explain one: nothing is to be learned from it.
	Diagnosed bool
	// ID is the recall's identifier, by which it draws what is left to chance; empty means a new one.
	ID string
	// chooser weighs the features of memories when candidates are chosen.
	chooser []float32
}

// Result is a profile with how it came about.
type Result struct {
	ID       string
	Profile  recall.Profile
	Evidence recall.Evidence
	// Retrieved are the candidates in order of retrieval; Ranked those that were shown to the profiler, best first.
	Retrieved, Ranked []bank.Scored
	// Floored are the ids of those that have a place, and that the relevance floor left out.
	Floored []string
	// Window is working memory, oldest first, with what is among the messages.
	Window []memory.Turn
	// Weights names the version of the weights that ordered them; empty where the reranker did not.
	Weights string
	// Explored is the memory that is shown to explore, drawn by chance among those that would not be; empty where none is.
	Explored string
	// Scores has the ranker's score of every evidence memory by id.
	Scores   map[string]float64
	Degraded []string
	// Searched is whether the candidates are what the bank's search found, and not chosen among all that the user remembers.
	Searched bool
	TraceID  string
	// Latency is the whole recall's, Profiling what of it the writing of the profile took.
	Latency, Profiling time.Duration
}

// Recall answers a query. It fails when the user's memories are neither in the index cache nor to be had from the bank, or the query
// cannot be embedded; everything else degrades.
func (r *Recaller) Recall(ctx context.Context, t tenant.Tenant, q Request) (Result, error) {
	start := time.Now()
	ctx, span := r.Tracer.Start(ctx, telemetry.SpanRecall, trace.WithAttributes(telemetry.AttrTenant.String(t.ID)))
	defer span.End()
	scope := memory.Scope{Tenant: t.ID, User: q.User}
	out := Result{ID: cmp.Or(q.ID, uuid.NewString()), TraceID: span.SpanContext().TraceID().String()}
	now := r.Now()
	read := conversation.Read(q.Query, q.Messages)
	horizon := recall.ReadHorizon(read.Question, q.AsOf, now)
	q.chooser = r.Learned.Of(ctx, t.ID).W
	found, err := r.retrieve(ctx, scope, q, read.Text, horizon, &out)
	if err != nil {
		span.SetStatus(codes.Error, "bank unavailable")
		return Result{}, err
	}
	out.Searched, out.Window = found.from == nil, found.turns
	places := r.order(ctx, q, found, &out)
	if found.hardlyNeeded != nil {
		places = aboveFloor(found, withStores(found, places, r.OwnPlaces), &out)
	}
	if !q.Unranked {
		places = recall.InOrder(horizon, places, func(i int) memory.Memory { return found.candidates[i].Memory })
	}
	if !horizon.Past {
		if err := r.leaveOut(ctx, scope, &found, places); found.turnsErr == nil {
			r.degrade(ctx, &out, DialogueUnavailable, err)
		}
	}
	holdBack(&found, places)
	shown := show(found, places, &out)
	out.Evidence = recall.Evidence{
		Query: q.Query, Messages: q.Messages, Filter: q.Filter, Now: now, Horizon: horizon, Memories: make([]memory.Memory, len(shown)),
		Window: matching(
			q.Filter,
			withoutSaid(found.turns, q.Messages),
		), Core: found.core, CoreMemories: found.coreMemories, WordBudget: q.WordBudget,
		Support: found.support, Best: found.best, Request: found.request, Owner: found.owner,
	}
	out.Scores = make(map[string]float64, len(shown))
	for i, s := range shown {
		out.Evidence.Memories[i], out.Scores[s.Memory.ID] = s.Memory, s.Score
	}
	began := time.Now()
	if err := r.profile(ctx, t, scope, q, &out); err != nil {
		return Result{}, err
	}
	out.Profiling = time.Since(began)
	link(span, out.Profile.Cited)
	span.SetAttributes(telemetry.AttrCandidates.Int(len(found.candidates)),
		telemetry.AttrCited.Int(len(out.Profile.Cited)), telemetry.AttrDegraded.StringSlice(out.Degraded))
	out.Latency = time.Since(start)
	r.Metrics.Time.Record(ctx, out.Latency.Seconds(), metric.WithAttributes(telemetry.AttrTenant.String(t.ID)))
	return out, nil
}

// withoutSaid leaves out of working memory what is among the messages: whoever asks has it at hand.
func withoutSaid(turns []memory.Turn, messages []memory.Message) []memory.Turn {
	if len(messages) == 0 {
		return turns
	}
	said := make(map[string]bool, len(messages))
	for _, m := range messages {
		said[text.OneLine(m.Content)] = true
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return said[text.OneLine(t.Text)] })
}

// matching are the turns of working memory that a filter matches.
func matching(f memory.Filter, turns []memory.Turn) []memory.Turn {
	if f.IsZero() {
		return turns
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return !f.MatchTurn(t) })
}

// profile has the profile written, by the tenant's policy where it can in time.
func (r *Recaller) profile(ctx context.Context, t tenant.Tenant, scope memory.Scope, q Request, out *Result) error {
	profiler, _, err := r.Policies(t.Policy)
	if err != nil {
		return err
	}
	bounded := ctx
	if deadline, ok := ctx.Deadline(); ok && t.Policy.Kind() != tenant.PolicyEmbedded { // which asks no model
		left := time.Until(deadline)
		if q.Answered && left < r.AnswerTime { // the answer is worth more than how its profile is written
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

// answer has an answer written, by the tenant's policy where its budget allows that and the model gives one.
func (r *Recaller) answer(ctx context.Context, t tenant.Tenant, scope memory.Scope, out *Result) (recall.Answer, tenant.Policy, error) {
	_, generator, err := r.Policies(t.Policy)
	if err != nil {
		return recall.Answer{}, t.Policy, fmt.Errorf("choose generator: %w", err)
	}
	answer, err := generator.Answer(ctx, scope, out.Evidence, out.Profile)
	var what Degradation
	switch {
	case errors.Is(err, fault.ErrBudget):
		what = ModelBudget
	case errors.Is(err, fault.ErrUnusableAnswer): // it would not be another: a filter refuses it, say
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

// degrade says to the caller what is missing, and to the operator why. Without an error, nothing is.
func (r *Recaller) degrade(ctx context.Context, out *Result, what Degradation, err error) {
	if err == nil {
		return
	}
	out.Degraded = append(out.Degraded, string(what))
	r.Metrics.Degraded.Add(ctx, 1, metric.WithAttributes(telemetry.AttrDegraded.String(string(what))))
	r.Log.WarnContext(ctx, "recall degraded", "what", string(what), "meaning", what.String(), "error", err)
}

// link ties the recall's trace to those that formed the memories it shows.
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
