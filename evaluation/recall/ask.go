package recall

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// asked is a question with its results.
type asked struct {
	of       *examined
	question dataset.Question
	// shown is the service's result. unranked holds the memories in the order of the bank's search.
	shown    shown
	unranked []*mnemev1.CitedMemory
	// why holds the answer and the diagnosis of the evidence.
	why   *mnemev1.WhyResponse
	marks map[string]float64
}

// shown is the result of one Mneme for a question.
type shown struct {
	// best holds memories by requested number, in order. profile holds the memories of a profile. byWords holds the
	// memories that fit a word budget.
	profile       []*mnemev1.CitedMemory
	best, byWords map[int][]*mnemev1.CitedMemory
	// searched says that the bank's search chose the candidates, because the user's index was not ready.
	searched bool
}

// request builds a recall of a question.
func (a *asked) request(candidates, memories, words int) *mnemev1.RecallRequest {
	req := &mnemev1.RecallRequest{
		UserId: a.of.Scope.User, Query: a.question.Text,
		Candidates: uint32(candidates), Memories: uint32(memories), WordBudget: uint32(words), //nolint:gosec // small
	}
	if at := a.asOf(); !at.IsZero() {
		req.AsOf = timestamppb.New(at)
	}
	return req
}

// asOf is the time of a question between the sessions, before later sessions are known. It is zero for a question
// after all sessions.
func (a *asked) asOf() time.Time {
	if at := a.question.AskedAt; at.Before(a.of.last) {
		return at
	}
	return time.Time{}
}

// note records the degraded parts and the variant of a recall. The figures of a degraded recall do not describe the
// whole service.
func (r *run) note(res *mnemev1.RecallResponse, of string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, what := range res.GetDegraded() {
		if r.degraded[of+what] == 0 {
			fmt.Fprintf(r.Progress, "a recall is degraded: %s\n", of+what)
		}
		r.degraded[of+what]++
	}
}

// respond sends a recall to the measured service.
func (r *run) respond(ctx context.Context, req *mnemev1.RecallRequest) (*mnemev1.RecallResponse, error) {
	res, err := r.Service.Utilizer.Recall(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	r.note(res.Msg, "")
	return res.Msg, nil
}

// warm sends one question of each user before the measurement, so that the indexes exist. Many indexes at once take
// longer than a recall waits. The report counts the recalls without an index.
func (r *run) warm(ctx context.Context) error {
	met := map[*examined]bool{}
	for _, a := range r.asked {
		if met[a.of] {
			continue
		}
		met[a.of] = true
		if _, err := r.respond(ctx, a.request(r.Candidates, r.Memories, r.Words)); err != nil {
			return fmt.Errorf("the first question of user %s: %w", a.of.Scope.User, err)
		}
	}
	return nil
}

// ask sends every request that is not timed.
func (r *run) ask(ctx context.Context) error {
	return r.each(ctx, "asked", func(ctx context.Context, i int) error {
		a := r.asked[i]
		for _, step := range []func(context.Context, *asked) error{r.recallAll, r.answer, r.mark} {
			if err := step(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// each calls do with the index of every question, several at a time.
func (r *run) each(ctx context.Context, what string, do func(ctx context.Context, i int) error) error {
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Workers)
	var done atomic.Int64
	for i, a := range r.asked {
		g.Go(func() error {
			if err := do(ctx, i); err != nil {
				return fmt.Errorf("a question of user %s: %w", a.of.Scope.User, err)
			}
			if n := done.Add(1); n%100 == 0 || int(n) == len(r.asked) {
				r.logf("%s %d of %d questions, %.0f s", what, n, len(r.asked), time.Since(began).Seconds())
			}
			return nil
		})
	}
	return g.Wait()
}

// recallAll makes the recalls of one question.
func (r *run) recallAll(ctx context.Context, a *asked) (err error) {
	if a.shown, err = r.show(ctx, a, r.respond, r.Candidates, wordBudgets()...); err != nil {
		return err
	}
	unranked := a.request(r.Candidates, min(deepest(), r.Candidates), wideBudget)
	unranked.RetrievalOrder = true
	res, err := r.respond(ctx, unranked)
	a.unranked = res.GetCited()
	return err
}

// show collects the results of a Mneme for a question: memories in order, a profile as for an answer, and memories
// for some word budgets.
func (r *run) show(ctx context.Context, a *asked, respond responder, candidates int, budgets ...int) (shown, error) {
	s := shown{best: map[int][]*mnemev1.CitedMemory{}, byWords: map[int][]*mnemev1.CitedMemory{}}
	for _, k := range ranks() {
		res, err := respond(ctx, a.request(candidates, min(k, candidates), wideBudget))
		if err != nil {
			return shown{}, err
		}
		s.best[k], s.searched = res.GetCited(), res.GetSearched()
	}
	res, err := respond(ctx, a.request(candidates, min(r.Memories, candidates), r.Words))
	if err != nil {
		return shown{}, err
	}
	s.profile = res.GetCited()
	for _, words := range budgets {
		res, err := respond(ctx, a.request(candidates, min(mostShown, candidates), words))
		if err != nil {
			return shown{}, err
		}
		s.byWords[words] = res.GetCited()
	}
	return s, nil
}

// answer requests the answer to a question and, if configured, the diagnosis of its evidence.
func (r *run) answer(ctx context.Context, a *asked) error {
	req := &mnemev1.WhyRequest{Recall: a.request(r.Candidates, r.Memories, r.Words)}
	if a.question.HasEvidence() {
		req.ExpectTurnIds = a.question.EvidenceTurns()
	}
	res, err := r.Service.Diagnosis.Why(ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	a.why = res.Msg
	r.note(res.Msg.GetAnswer().GetRecall(), "")
	return nil
}
