package mem0

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Limits and defaults of searches, from the contract in proto/.
const (
	usualFound, maxFound = 10, 100
	leastCandidates      = 20
	wordsForAll          = 10_000 // so that no memory is left out for want of words
	parallelRecalls      = 4
)

// search is a checked search.
type search struct {
	filter    filter
	query     string
	found     int
	threshold float64
	ranked    bool
	asOf      *timestamppb.Timestamp
	fields    []string
}

// searchOf reads a search.
func (a *api) searchOf(ctx context.Context, in fields) (s search, err error) {
	if s.query, err = in.text("query"); err != nil {
		return s, err
	}
	if err := memory.ValidText("query", s.query, memory.MaxQueryBytes); err != nil {
		return s, err
	}
	if s.found, err = in.whole("top_k", usualFound, 1, maxFound); err != nil {
		return s, err
	}
	if s.threshold, err = in.number("threshold", 0, 0, 1); err != nil {
		return s, err
	}
	if s.ranked, err = in.flag("rerank", true); err != nil {
		return s, err
	}
	if s.fields, err = in.texts("fields"); err != nil {
		return s, err
	}
	if in.has("reference_date") {
		_, end, err := span("reference_date", in["reference_date"])
		if err != nil {
			return s, err
		}
		s.asOf = timestamppb.New(end)
	}
	s.filter, err = a.filterOf(ctx, in)
	return s, err
}

// request asks for the memories of a user.
func (s search) request(user string, c clause) *mnemev1.RecallRequest {
	return &mnemev1.RecallRequest{
		UserId: user, Query: s.query, WordBudget: wordsForAll, AsOf: s.asOf, RetrievalOrder: !s.ranked, Filter: c.filter,
		Memories: uint32(s.found), Candidates: uint32(max(s.found, leastCandidates)), //nolint:gosec // checked
	}
}

// answer is the result of a search.
type answer struct {
	items []*item
	// degraded lists the unavailable parts.
	degraded []string
}

// search returns the memories that matter for a query, the best first.
func (a *api) search(r *http.Request, in fields) (any, error) {
	s, err := a.searchOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	ofUsers := make([]answer, len(s.filter.users))
	g, ctx := errgroup.WithContext(r.Context())
	g.SetLimit(parallelRecalls)
	for i, user := range s.filter.users {
		g.Go(func() (err error) {
			ofUsers[i], err = a.recall(ctx, s, user)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var found []*item
	out := map[string]any{}
	for _, of := range ofUsers {
		if found = append(found, of.items...); len(of.degraded) > 0 {
			out["degraded"] = of.degraded
		}
	}
	slices.SortStableFunc(found, func(m, n *item) int { return cmp.Compare(*n.Score, *m.Score) })
	found = found[:min(s.found, len(found))]
	results := make([]any, len(found))
	for i, m := range found {
		if results[i], err = m.only(s.fields); err != nil {
			return nil, err
		}
	}
	out["results"] = results
	return out, nil
}

// recall returns the memories found of a user, with scores.
func (a *api) recall(ctx context.Context, s search, user string) (out answer, err error) {
	c := s.filter.root.clauseFor(user)
	if c.filter == nil && !c.holds {
		return out, nil
	}
	scope := scopeOf(ctx, user)
	token, noToken := a.State.Token(ctx, scope)
	res, err := a.Services.Recall.Recall(ctx, connect.NewRequest(s.request(user, c)))
	if err != nil {
		return out, err
	}
	out.degraded = res.Msg.GetDegraded()
	cited := res.Msg.GetCited()
	shown := mem0state.Recall{ID: res.Msg.GetRecallId(), IDs: make([]string, len(cited))}
	for i, score := range scoresOf(cited, s.ranked) {
		m := itemOf(user, cited[i].GetMemory())
		shown.IDs[i] = m.VersionID
		if m.Score = &score; score >= s.threshold {
			out.items = append(out.items, m)
		}
	}
	a.recordRecall(ctx, scope, token, noToken, shown)
	return out, nil
}

// recordRecall stores the results of a search for later feedback. If it cannot store them, feedback answers that
// nothing is learned.
func (a *api) recordRecall(
	ctx context.Context, scope memory.Scope, token redisstore.Token, err error, shown mem0state.Recall,
) {
	if err == nil {
		err = a.State.KeepRecall(ctx, scope, token, shown)
	}
	if err != nil && !errors.Is(err, redisstore.ErrErased) && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "mem0's API: cannot store a search, so feedback on it has no effect", "error", err)
	}
}

// scoresOf returns scores from 0 to 1, as mem0's clients expect, in the order of a recall's scores. Scores of the
// reranker are sums without bounds. They become the approximate chance that the memory belongs to the query. Scores of
// a search are within bounds already. A memory that the recall shows outside the ranking has no score. It gets the
// lowest score of the others.
func scoresOf(cited []*mnemev1.CitedMemory, ranked bool) []float64 {
	out, least := make([]float64, len(cited)), 1.0
	for i, c := range cited {
		if out[i] = min(max(c.GetScore(), 0), 1); ranked && c.GetScore() != 0 {
			out[i] = ranking.Likelihood(c.GetScore())
		}
		if c.GetScore() != 0 {
			least = min(least, out[i])
		}
	}
	for i, c := range cited {
		if c.GetScore() == 0 && least < 1 {
			out[i] = least
		}
	}
	return out
}

// Feedback on a memory.
const (
	positive     = "POSITIVE"
	negative     = "NEGATIVE"
	veryNegative = "VERY_NEGATIVE"
)

// feedback reports helpful memories to the ranking, if the user's last search showed the memory. The ranking learns
// from searches, not from memories. A search teaches once.
func (a *api) feedback(r *http.Request, in fields) (any, error) {
	id, err := in.text("memory_id")
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, problem.Invalid("memory_id", "is missing")
	}
	verdict, err := in.text("feedback")
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", positive, negative, veryNegative}, verdict) {
		return nil, problem.Invalid("feedback", "is invalid, want POSITIVE, NEGATIVE or VERY_NEGATIVE")
	}
	if _, err := in.text("feedback_reason"); err != nil {
		return nil, err
	}
	f, err := a.find(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if err := backend.Check(r.Context(), access.Recall, f.user); err != nil {
		return nil, err
	}
	message, err := a.judge(r.Context(), f, verdict)
	if err != nil {
		return nil, err
	}
	return reply{http.StatusCreated,
		map[string]string{"id": id, "memory_id": id, "feedback": verdict, "message": message}}, nil
}

// judge reports a verdict about a memory, and returns the result. It reports nothing about memories without a
// verdict. For a positive verdict these are the memories that the search showed and the client did not take. For a
// negative verdict their value is unknown.
func (a *api) judge(ctx context.Context, f found, verdict string) (string, error) {
	if verdict == "" {
		return "Accepted. Nothing is learned without a verdict.", nil
	}
	scope := scopeOf(ctx, f.user)
	last, err := a.State.LastRecall(ctx, scope)
	if err != nil {
		return "", err
	}
	seen := slices.IndexFunc(last.IDs, func(id string) bool {
		return f.version(func(m *mnemev1.Memory) bool { return m.GetId() == id }) != nil
	})
	if seen < 0 {
		return "Accepted. Nothing is learned: the last search for this user, of the last day, did not show the memory, or " +
			"has taught already.", nil
	}
	report := &mnemev1.ReportCitationsRequest{UserId: f.user, RecallId: last.ID, ShownIds: last.IDs,
		CitedIds: []string{last.IDs[seen]}}
	if verdict != positive {
		report.ShownIds, report.CitedIds = report.CitedIds, nil
	}
	if _, err := a.Services.Recall.ReportCitations(ctx, connect.NewRequest(report)); err != nil {
		return "", err
	}
	return "Accepted. The ranking learns from it.", a.State.DropRecall(ctx, scope)
}
