package utilizer

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/metric"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Defaults and limits of a recall request; part of the contract in proto/.
const (
	// defaultCandidates leaves some memories to explore, and all candidates have a relevance.
	defaultCandidates, maxCandidates = features.RelevanceDepth, 200
	// defaultMemories is an upper bound: the word budget decides.
	defaultMemories, maxMemories = 20, 100
	defaultWordBudget            = 400
	minWordBudget, maxWordBudget = 20, 10_000
	feedbackTimeout              = 2 * time.Second
)

// server is the UtilizerService.
type server struct {
	recaller *Recaller
	feedback bus.Publisher
	log      *slog.Logger
	// fared receives the memories shown in a recall, and the cited ones. It is nil if model calls are not recorded.
	fared func(ctx context.Context, scope memory.Scope, recallID string, shown, cited []string, byCaller bool)
}

// Recall implements the RPC.
func (s *server) Recall(
	ctx context.Context, req *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	t, result, err := s.recall(ctx, req.Msg, Request{})
	if err != nil {
		return nil, err
	}
	if s.fared != nil {
		s.fared(ctx, memory.Scope{Tenant: t.ID, User: req.Msg.GetUserId()}, result.ID, ids(result.Profile.Cited), nil, false)
	}
	return connect.NewResponse(response(result)), nil
}

// Answer implements the RPC. Its citations become feedback at once.
func (s *server) Answer(
	ctx context.Context, req *connect.Request[mnemev1.AnswerRequest],
) (*connect.Response[mnemev1.AnswerResponse], error) {
	if req.Msg.GetRecall() == nil {
		return nil, rpcerror.From(fault.Terminal("recall", "is missing, want the query"))
	}
	var used llm.Usage
	ctx, began := llm.WithUsage(ctx, &used), time.Now()
	t, result, err := s.recall(ctx, req.Msg.GetRecall(), Request{Answered: true})
	if err != nil {
		return nil, err
	}
	recalled := time.Now()
	scope := memory.Scope{Tenant: t.ID, User: req.Msg.GetRecall().GetUserId()}
	answer, by, err := s.recaller.answer(ctx, t, scope, &result)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "answer", err)
	}
	cost := &mnemev1.AnswerCost{
		ModelCalls: used.Calls(), InputTokens: used.InputTokens(), OutputTokens: used.OutputTokens(),
		RecallMs: milliseconds(recalled.Sub(began)), ProfileMs: milliseconds(result.Profiling),
		GenerateMs: milliseconds(time.Since(recalled)),
	}
	s.recaller.Metrics.Answers.Add(ctx, 1,
		metric.WithAttributes(telemetry.AttrTenant.String(t.ID), telemetry.AttrAbstained.Bool(answer.Abstained)))
	s.recaller.degrade(ctx, &result, FeedbackUnavailable, s.learn(ctx, scope, result, answer.Cited, citedBy(by)))
	return connect.NewResponse(&mnemev1.AnswerResponse{
		Answer: answer.Text, Abstained: answer.Abstained, CitedIds: answer.Cited, Recall: response(result), Cost: cost,
	}), nil
}

// milliseconds converts a duration to the unit of the contract.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ReportCitations implements the RPC.
func (s *server) ReportCitations(
	ctx context.Context, req *connect.Request[mnemev1.ReportCitationsRequest],
) (*connect.Response[mnemev1.ReportCitationsResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	reported := contract.Feedback{
		RecallID: memory.CanonicalID(req.Msg.GetRecallId()), Shown: converted(req.Msg.GetShownIds(), memory.CanonicalID),
		Cited:  converted(req.Msg.GetCitedIds(), memory.CanonicalID),
		Source: contract.CitationCaller,
	}
	if err := s.publish(ctx, scope, reported); err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "publish feedback", err)
	}
	return connect.NewResponse(&mnemev1.ReportCitationsResponse{}), nil
}

// recall makes the recall of a request, for the purpose in as.
func (s *server) recall(ctx context.Context, req *mnemev1.RecallRequest, as Request) (tenant.Tenant, Result, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return t, Result{}, rpcerror.From(err)
	}
	q, err := requestFrom(req)
	if err != nil {
		return t, Result{}, rpcerror.From(err)
	}
	q.Answered, q.Diagnosed, q.ID = as.Answered, as.Diagnosed, as.ID
	result, err := s.recaller.Recall(ctx, t, q)
	if err != nil {
		return t, Result{}, rpcerror.Logged(ctx, s.log, "recall", err)
	}
	return t, result, nil
}

// learn reports an answer's citations. It skips a result without memories, because it has nothing to learn from.
func (s *server) learn(
	ctx context.Context, scope memory.Scope, shown Result, cited []string, by contract.CitationSource,
) error {
	if len(shown.Profile.Cited) == 0 {
		return nil
	}
	return s.publish(ctx, scope, contract.Feedback{RecallID: shown.ID, Shown: ids(shown.Profile.Cited), Cited: cited,
		Source: by})
}

// citedBy returns the citation source of a policy's answers.
func citedBy(p tenant.Policy) contract.CitationSource {
	if p.Kind() == tenant.PolicyEmbedded {
		return contract.CitationEmbedded
	}
	return contract.CitationModel
}

// publish reports citations. The recall's id makes a repeated report harmless.
func (s *server) publish(ctx context.Context, scope memory.Scope, f contract.Feedback) error {
	f.Envelope, f.Time = contract.Envelope{EventID: f.RecallID, Scope: scope}, s.recaller.Now()
	value, err := f.Encode()
	if err != nil {
		return err
	}
	if s.fared != nil {
		s.fared(ctx, scope, f.RecallID, f.Shown, f.Cited, f.Source == contract.CitationCaller)
	}
	ctx, cancel := context.WithTimeout(ctx, feedbackTimeout)
	defer cancel()
	return s.feedback.Publish(ctx, bus.Message{Topic: contract.TopicFeedback, Key: f.Key(), Value: value})
}

func requestFrom(req *mnemev1.RecallRequest) (Request, error) {
	q := Request{User: req.GetUserId(), Query: req.GetQuery(), Unranked: req.GetRetrievalOrder()}
	if asOf := req.GetAsOf(); asOf != nil {
		if q.AsOf = asOf.AsTime(); !asOf.IsValid() || q.AsOf.Before(time.Unix(0, 0)) {
			return q, fault.Terminal("as_of", "is not a time between 1970-01-01 and the end of the year 9999")
		}
	}
	if err := memory.ValidUser(q.User); err != nil {
		return q, err
	}
	if err := memory.ValidText("query", q.Query, memory.MaxQueryBytes); err != nil {
		return q, err
	}
	for _, m := range req.GetMessages() {
		q.Messages = append(q.Messages, memory.Message{Role: memory.Role(m.GetRole()), Content: m.GetContent()})
	}
	if err := memory.ValidMessages(q.Messages); err != nil {
		return q, err
	}
	var err error
	if q.Filter, err = contract.FilterFrom(req.GetFilter()); err != nil {
		return q, err
	}
	usual := max(defaultCandidates, min(int(req.GetMemories()), maxMemories))
	if q.Candidates, err = number("candidates", req.GetCandidates(), usual, 1, maxCandidates); err != nil {
		return q, err
	}
	most := min(maxMemories, q.Candidates)
	if q.Memories, err = number("memories", req.GetMemories(), min(defaultMemories, most), 1, most); err != nil {
		return q, err
	}
	q.WordBudget, err = number("word_budget", req.GetWordBudget(), defaultWordBudget, minWordBudget, maxWordBudget)
	return q, err
}

func number(field string, v uint32, otherwise, low, high int) (int, error) {
	n := int(v)
	if n == 0 {
		return otherwise, nil
	}
	if n < low || n > high {
		return 0, fault.Terminal(field, "is %d, want %d to %d", n, low, high)
	}
	return n, nil
}

// tenantOf returns the tenant of the credential, which is the only source of the tenant.
func tenantOf(ctx context.Context) (tenant.Tenant, error) {
	t, ok := tenant.FromContext(ctx)
	if !ok {
		return tenant.Tenant{}, connect.NewError(connect.CodeUnauthenticated,
			fmt.Errorf("no tenant: the call carries no credential"))
	}
	return t, nil
}

func scopeOf(ctx context.Context, user string) (memory.Scope, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return memory.Scope{}, err
	}
	return memory.Scope{Tenant: t.ID, User: user}, memory.ValidUser(user)
}

func response(r Result) *mnemev1.RecallResponse {
	out := &mnemev1.RecallResponse{
		RecallId: r.ID, Degraded: r.Degraded, TraceId: r.TraceID, WeightsVersion: r.Weights, Searched: r.Searched,
		LatencyMs: milliseconds(r.Latency),
	}
	var text strings.Builder
	for _, s := range r.Profile.Sections {
		out.Sections = append(out.Sections, &mnemev1.ProfileSection{Name: s.Name, Lines: s.Lines})
		fmt.Fprintf(&text, "%s:\n", s.Name)
		for _, l := range s.Lines {
			fmt.Fprintf(&text, "- %s\n", l)
		}
	}
	out.Profile = text.String()
	for i, m := range r.Profile.Cited {
		out.Cited = append(out.Cited, &mnemev1.CitedMemory{
			Index:  uint32(i + 1), //nolint:gosec // at most 100
			Memory: contract.MemoryToProto(m), Score: r.Scores[m.ID], Explored: m.ID == r.Explored,
		})
	}
	return out
}

func ids(ms []memory.Memory) []string {
	return converted(ms, func(m memory.Memory) string { return m.ID })
}

// converted converts the elements of a list. The result is never nil.
func converted[From, To any](list []From, convert func(From) To) []To {
	out := make([]To, len(list))
	for i, one := range list {
		out[i] = convert(one)
	}
	return out
}
