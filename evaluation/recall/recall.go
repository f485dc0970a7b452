// Package recall measures what a running service finds again of conversations, through its public API: conversations go in
// by Kafka, questions are asked by RPC, and the diagnosis says where evidence was lost. Raw turns are searched in process beside it, for
// comparison.
package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Service is the Mneme that is measured, through its public API.
type Service struct {
	Utilizer mnemev1connect.UtilizerServiceClient
	Memories mnemev1connect.MemoryServiceClient
	UserData mnemev1connect.UserDataServiceClient
	// Diagnosis answers the questions: it says where evidence was lost, and nothing is learned from what is asked for it.
	Diagnosis mnemev1connect.DiagnosisServiceClient
	// Reranker is asked how far it has learned, where recall is measured after learning.
	Reranker mnemev1connect.RerankerServiceClient
}

// Publisher sends a session's events to the service.
type Publisher func(ctx context.Context, s dataset.Session) (Published, error)

// Published is what became of a session's events.
type Published struct {
	// Refused says of each event that breaks the contract which it is and why: it becomes a dead letter.
	Refused []string
	// Ends reports whether the service takes the session's end. It is never formed otherwise.
	Ends bool
}

// BareQuery asks the bank's server itself for a user's memories: how long it took, with the answer in hand.
type BareQuery func(ctx context.Context, user, query string, k int) (time.Duration, error)

// Defaults of Options.
const (
	DefaultCandidates    = 200
	DefaultShown         = 10
	DefaultLatencySample = 500
	DefaultWorkers       = 4
)

// Options say what is measured on what.
type Options struct {
	// Path is a file of conversations with questions, of any form that ReadSubjects knows.
	Path string
	// Tenant is the tenant that the service knows the caller as.
	Tenant string
	// Service is measured; Publish feeds it; Bare is timed beside it, nil where the bank's server is not known.
	Service Service
	Publish Publisher
	Bare    BareQuery
	// Observed replays what the file's authors had a model extract, in the place of the services' filter and extractor; nil for the services.
	Observed *Observed
	// Candidates are fetched from the bank where order is measured; 0 means DefaultCandidates.
	Candidates int
	// Memories are shown where the cascade and answers are measured; 0 means DefaultShown. Words is the word budget of it;
	// 0 leaves it to the service.
	Memories, Words int
	// Workers ask that many questions at a time, where time is not measured; 0 means DefaultWorkers.
	Workers int
	// LatencySample is how many recalls are timed, alone and one after the other; 0 means DefaultLatencySample, less than 0 none.
	LatencySample int
	// Users are formed that many at a time, each a session after the other; 0 means one, so that formation times are those of a service
	// with nothing else to do.
	Users int
	// FormTimeout bounds how long one session may take; 0 means two minutes.
	FormTimeout time.Duration
	// Answers asks for the answers' words to be compared with the right ones.
	Answers bool
	// Judge marks answers, and answers from the whole history itself, for comparison; nil for no marks.
	Judge *Judge
	// Learn measures recall after learning, too; nil for not. It needs two conversations.
	Learn *FoldOptions
	// Progress takes lines for people; nil for nobody.
	Progress io.Writer
}

func (o Options) filled() Options {
	set := func(v *int, otherwise int) {
		if *v == 0 {
			*v = otherwise
		}
	}
	set(&o.Candidates, DefaultCandidates)
	set(&o.Memories, DefaultShown)
	set(&o.Workers, DefaultWorkers)
	set(&o.LatencySample, DefaultLatencySample)
	set(&o.Users, 1)
	if o.FormTimeout == 0 {
		o.FormTimeout = 2 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}

// Evaluate forms the memories of a file's conversations on the service, asks it every question, and measures what comes.
func Evaluate(ctx context.Context, o Options) (Report, error) {
	o = o.filled()
	subjects, repairs, err := dataset.ReadSubjects(o.Path, dataset.ReadOptions{Tenant: o.Tenant})
	if err != nil {
		return Report{}, err
	}
	if err := o.Learn.check(subjects); err != nil {
		return Report{}, err
	}
	r := &run{Options: o, degraded: map[string]int{}, report: newReport(o, subjects, repairs)}
	for _, s := range subjects {
		e := newExamined(s)
		r.subjects = append(r.subjects, e)
		for _, q := range s.Questions {
			r.asked = append(r.asked, &asked{of: e, question: q, byWords: map[int][]*mnemev1.CitedMemory{}, marks: map[string]float64{}})
		}
	}
	if r.report.Counts.Questions == 0 {
		return Report{}, fmt.Errorf("%w: %s has no questions", dataset.ErrFormat, o.Path)
	}
	form := r.form
	if o.Observed != nil {
		form = r.observe
	}
	for _, step := range []func(context.Context) error{form, r.askCold, r.read, r.ask, r.time, r.fold} {
		if err := step(ctx); err != nil {
			return Report{}, err
		}
	}
	r.conclude()
	return r.report, nil
}

// run is the state of one Evaluate.
type run struct {
	Options
	subjects []*examined
	asked    []*asked
	timed    []timing
	report   Report

	mu       sync.Mutex // guards Progress and degraded
	degraded map[string]int
}

// examined is a subject with what the service has of it.
type examined struct {
	dataset.Subject
	turns []memory.Turn
	// session of a turn, by its id.
	session map[string]string
	// entries are the bank's memories in every state, by id.
	entries map[string]memory.Memory
	stemmed *TurnSearch
	plain   *TurnSearch
	last    time.Time
}

func newExamined(s dataset.Subject) *examined {
	e := &examined{Subject: s, session: map[string]string{}, entries: map[string]memory.Memory{}, last: s.End()}
	for _, one := range s.Sessions {
		for _, t := range one.Turns {
			e.turns = append(e.turns, t)
			e.session[t.ID] = one.ID
		}
	}
	e.stemmed = NewTurnSearch(e.turns, spoken, text.SearchTerms)
	e.plain = NewTurnSearch(e.turns, said, PlainTerms)
	return e
}

// asked is a question with what came of it.
type asked struct {
	of       *examined
	question dataset.Question
	// ranked are the memories in the reranker's order, unranked in that of the bank's search; byWords, what a budget has room for.
	ranked, unranked []*mnemev1.CitedMemory
	byWords          map[int][]*mnemev1.CitedMemory
	// first says that it was the first question of its user; cold are the memories in the reranker's order then.
	first bool
	cold  []*mnemev1.CitedMemory
	// searched says that these came from the bank's search: the index was not ready.
	searched bool
	// why has the answer, and what became of the evidence.
	why   *mnemev1.WhyResponse
	marks map[string]float64
}

func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.Progress, format+"\n", args...)
}

// request is a recall of a question.
func (a *asked) request(candidates, memories, words int) *mnemev1.RecallRequest {
	req := &mnemev1.RecallRequest{
		UserId: a.of.Scope.User, Query: a.question.Text,
		Candidates: uint32(candidates), Memories: uint32(memories), WordBudget: uint32(words), //nolint:gosec // small
	}
	if at := a.question.AskedAt; !at.IsZero() && at.Before(a.of.last) {
		req.AsOf = timestamppb.New(at) // asked between the sessions: what was said later is not known yet
	}
	return req
}

// note keeps what a recall did without: its figures are not those of the whole service.
func (r *run) note(res *mnemev1.RecallResponse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, what := range res.GetDegraded() {
		if r.degraded[what] == 0 {
			fmt.Fprintf(r.Progress, "a recall is degraded: %s\n", what)
		}
		r.degraded[what]++
	}
}

func (r *run) recall(ctx context.Context, req *mnemev1.RecallRequest) ([]*mnemev1.CitedMemory, error) {
	res, err := r.respond(ctx, req)
	return res.GetCited(), err
}

func (r *run) respond(ctx context.Context, req *mnemev1.RecallRequest) (*mnemev1.RecallResponse, error) {
	res, err := r.Service.Utilizer.Recall(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	r.note(res.Msg)
	return res.Msg, nil
}

// askCold asks a question of each user before anything else is asked of them: the service need not have their index ready yet. Where it has
// it in time, as where indexes are made fast, what is measured is as warm as any: the service says so, and the report counts the others.
func (r *run) askCold(ctx context.Context) error {
	met := map[*examined]bool{}
	for _, a := range r.asked {
		if met[a.of] || !a.question.HasEvidence() {
			continue
		}
		met[a.of], a.first = true, true
		res, err := r.respond(ctx, a.request(r.Candidates, r.deepest(), wideBudget))
		if err != nil {
			return fmt.Errorf("the first question of user %s: %w", a.of.Scope.User, err)
		}
		a.cold, a.searched = res.GetCited(), res.GetSearched()
	}
	return nil
}

// ask asks everything that is not timed.
func (r *run) ask(ctx context.Context) error {
	return r.each(ctx, "asked", func(ctx context.Context, a *asked) error {
		for _, step := range []func(context.Context, *asked) error{r.recallAll, r.answer, r.mark} {
			if err := step(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// each does something with every question, several at a time.
func (r *run) each(ctx context.Context, what string, do func(context.Context, *asked) error) error {
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Workers)
	var done atomic.Int64
	for _, a := range r.asked {
		g.Go(func() error {
			if err := do(ctx, a); err != nil {
				return fmt.Errorf("a question of user %s: %w", a.of.Scope.User, err)
			}
			if n := done.Add(1); n%100 == 0 || int(n) == len(r.asked) {
				r.say("%s %d of %d questions, %.0f s", what, n, len(r.asked), time.Since(began).Seconds())
			}
			return nil
		})
	}
	return g.Wait()
}

// deepest is how many memories are looked at in order.
func (r *run) deepest() int { return min(max(ranks()[len(ranks())-1], r.Memories), r.Candidates) }

// recallAll makes the recalls of one question.
func (r *run) recallAll(ctx context.Context, a *asked) (err error) {
	if a.ranked, err = r.recall(ctx, a.request(r.Candidates, r.deepest(), wideBudget)); err != nil {
		return err
	}
	unranked := a.request(r.Candidates, r.deepest(), wideBudget)
	unranked.RetrievalOrder = true
	if a.unranked, err = r.recall(ctx, unranked); err != nil {
		return err
	}
	for _, words := range wordBudgets() {
		if a.byWords[words], err = r.recall(ctx, a.request(r.Candidates, min(mostShown, r.Candidates), words)); err != nil {
			return err
		}
	}
	return nil
}

// answer has one question answered and, where that is measured, says what became of its evidence.
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
	r.note(res.Msg.GetAnswer().GetRecall())
	return nil
}

var errNotFormed = errors.New("not formed in time")
