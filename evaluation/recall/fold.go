package recall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// FoldOptions say how recall is measured after learning: for each conversation in turn, the questions of the others are asked and what
// rests on their evidence is reported as cited, the conversation itself is measured, and the weights are taken back. The tenant's weights
// must be the prior's when it begins, and they are when it ends.
type FoldOptions struct {
	// Candidates are ordered in the stream and Shown of them shown and reported on.
	Candidates, Shown int
	// Passes is how often the stream comes, each time in another order, which Seed chooses.
	Passes int
	Seed   uint64
	// Batch is how many reports make one step on the service.
	Batch int
	// Wait bounds how long reports may take until they are learned from.
	Wait time.Duration
}

// FoldDefaults are used unless said otherwise.
func FoldDefaults() FoldOptions {
	return FoldOptions{Candidates: 100, Shown: 20, Passes: 1, Seed: 1, Batch: 4, Wait: time.Minute}
}

// FoldReport is what learning from the other conversations came to.
type FoldReport struct {
	// Candidates to Passes are the options.
	Candidates int `json:"candidates"`
	Shown      int `json:"shown"`
	Passes     int `json:"passes"`
	// Before and After are the shares of evidence by how many memories are shown, as means over all questions with evidence.
	Before map[string]float64 `json:"recall_at_before"`
	After  map[string]float64 `json:"recall_at_after"`
	Folds  []Fold             `json:"folds"`
}

// Fold is one conversation that was left out.
type Fold struct {
	User string `json:"user"`
	// Questions of it were measured.
	Questions int `json:"questions"`
	// Reports were learned from, on Shown memories of which Cited were cited.
	Reports int `json:"reports"`
	Shown   int `json:"shown"`
	Cited   int `json:"cited"`
	// Distance of the weights from the prior.
	Distance float64            `json:"distance"`
	Before   map[string]float64 `json:"recall_at_before"`
	After    map[string]float64 `json:"recall_at_after"`
}

// ErrNotTheWeightsOfTheStart says that learning cannot be measured on weights that have learned already.
var ErrNotTheWeightsOfTheStart = errors.New("the tenant's weights are not those that every tenant starts from")

var errNotLearned = errors.New("reports of citations were not all learned from in time: is the reranker's rate limited, or its consumer " +
	"unavailable?")

// reportedAtOnce is how many reports may be on their way: fewer than traces are kept of a user.
const reportedAtOnce = 32

// check says what cannot be learned from.
func (o *FoldOptions) check(subjects []dataset.Subject) error {
	if o != nil && len(subjects) < 2 {
		return fmt.Errorf("%w: there is one conversation, and nothing to learn from for it", dataset.ErrFormat)
	}
	return nil
}

// fold measures recall after learning, where that is asked for.
func (r *run) fold(ctx context.Context) error {
	if r.Learn == nil {
		return nil
	}
	now, err := r.weights(ctx)
	if err != nil {
		return err
	}
	if now.GetDistance() != 0 {
		return ErrNotTheWeightsOfTheStart
	}
	report := &FoldReport{Candidates: r.Learn.Candidates, Shown: r.Learn.Shown, Passes: r.Learn.Passes}
	var before, after []sample
	for i, left := range r.subjects {
		f, fore, aft, err := r.foldOne(ctx, i)
		if err != nil {
			return fmt.Errorf("learn for user %s: %w", left.Scope.User, err)
		}
		report.Folds = append(report.Folds, f)
		before, after = append(before, fore...), append(after, aft...)
		r.say("learned from %d reports, measured %s", f.Reports, f.User)
	}
	report.Before, report.After = figures(before, false).RecallAt, figures(after, false).RecallAt
	r.report.Learned = report
	return nil
}

func (r *run) foldOne(ctx context.Context, i int) (f Fold, before, after []sample, err error) {
	left := r.subjects[i]
	f = Fold{User: left.Scope.User}
	defer func() { err = errors.Join(err, r.rollback(context.WithoutCancel(ctx))) }()
	if err := r.rollback(ctx); err != nil {
		return f, nil, nil, err
	}
	if err := r.stream(ctx, i, &f); err != nil {
		return f, nil, nil, err
	}
	now, err := r.weights(ctx)
	if err != nil {
		return f, nil, nil, err
	}
	f.Distance = now.GetDistance()
	for _, a := range r.asked {
		if a.of != left || !a.question.HasEvidence() {
			continue
		}
		res, err := r.respond(ctx, a.request(r.Candidates, min(deepest(), r.Candidates), wideBudget))
		if err != nil {
			return f, nil, nil, err
		}
		before, after = append(before, a.order(a.shown.best[deepest()])), append(after, a.order(res.GetCited()))
		f.Questions++
	}
	f.Before, f.After = figures(before, false).RecallAt, figures(after, false).RecallAt
	return f, before, after, nil
}

// stream asks the questions of the other conversations and reports what was cited, a few at a time.
func (r *run) stream(ctx context.Context, leftOut int, f *Fold) error {
	var others []*asked
	for _, a := range r.asked {
		if a.of != r.subjects[leftOut] && a.question.HasEvidence() {
			others = append(others, a)
		}
	}
	start, err := r.weights(ctx)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(r.Learn.Seed, uint64(leftOut))) //nolint:gosec // chooses an order
	for range r.Learn.Passes {
		random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		// Whole batches only: what waits for the rest of one would be taken for learned, and reach the next conversation.
		for some := range slices.Chunk(others[:len(others)-len(others)%r.Learn.Batch], reportedAtOnce) {
			if err := r.reportSome(ctx, some, f); err != nil {
				return err
			}
			want := start.GetLearned() + uint64(f.Reports-f.Reports%r.Learn.Batch) //nolint:gosec // never negative
			if err := r.awaitLearned(ctx, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportSome recalls for some questions, several at a time, and reports what rests on evidence.
func (r *run) reportSome(ctx context.Context, some []*asked, f *Fold) error {
	reports := make([]*mnemev1.ReportCitationsRequest, len(some))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Workers)
	for i, a := range some {
		g.Go(func() error {
			res, err := r.respond(gctx, a.request(r.Learn.Candidates, r.Learn.Shown, wideBudget))
			if err != nil {
				return err
			}
			reports[i] = a.citations(res)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, report := range reports {
		if len(report.GetShownIds()) == 0 {
			continue
		}
		if _, err := r.Service.Utilizer.ReportCitations(ctx, connect.NewRequest(report)); err != nil {
			return err
		}
		f.Reports++
		f.Shown, f.Cited = f.Shown+len(report.GetShownIds()), f.Cited+len(report.GetCitedIds())
	}
	return nil
}

// citations are the memories shown that rest on the question's evidence.
func (a *asked) citations(res *mnemev1.RecallResponse) *mnemev1.ReportCitationsRequest {
	out := &mnemev1.ReportCitationsRequest{UserId: a.of.Scope.User, RecallId: res.GetRecallId()}
	for _, c := range res.GetCited() {
		m := c.GetMemory()
		out.ShownIds = append(out.ShownIds, m.GetId())
		if slices.ContainsFunc(m.GetSourceTurnIds(), func(id string) bool { return slices.Contains(a.question.Evidence, id) }) {
			out.CitedIds = append(out.CitedIds, m.GetId())
		}
	}
	return out
}

// awaitLearned waits until so many reports were learned from in all.
func (r *run) awaitLearned(ctx context.Context, want uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Learn.Wait, errNotLearned)
	defer cancel()
	tick := time.NewTicker(formPoll)
	defer tick.Stop()
	for {
		now, err := r.weights(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && now.GetLearned() >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", now.GetLearned(), want, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// weights is the version of the tenant's weights that is in use.
func (r *run) weights(ctx context.Context) (*mnemev1.WeightsVersion, error) {
	res, err := r.Service.Reranker.ListWeights(ctx, connect.NewRequest(&mnemev1.ListWeightsRequest{}))
	if err != nil {
		return nil, fmt.Errorf("list weights: %w", err)
	}
	return res.Msg.GetVersions()[0], nil
}

func (r *run) rollback(ctx context.Context) error {
	if _, err := r.Service.Reranker.RollbackWeights(ctx, connect.NewRequest(&mnemev1.RollbackWeightsRequest{Version: 0})); err != nil {
		return fmt.Errorf("roll back weights: %w", err)
	}
	return nil
}

// render says what learning came to, beside the figures before it.
func (f *FoldReport) render(line func(format string, args ...any)) {
	line("\nlearned from citations, each conversation from all others (%d of %d candidates shown, "+
		"a memory cited where it rests on evidence; passes over them: %d):", f.Shown, f.Candidates, f.Passes)
	row := func(name string, n int, before, after map[string]float64, more string) {
		figures := ""
		for _, k := range ranks() {
			at := strconv.Itoa(k)
			figures += fmt.Sprintf(", @%s %s -> %s", at, score.Percent(before[at]), score.Percent(after[at]))
		}
		line("  %-20s %5d questions%s%s", name, n, figures, more)
	}
	all := 0
	for _, one := range f.Folds {
		all += one.Questions
		row(one.User, one.Questions, one.Before, one.After,
			fmt.Sprintf("; %d reports, %d of %d cited, distance %.2f", one.Reports, one.Cited, one.Shown, one.Distance))
	}
	row("all", all, f.Before, f.After, "")
}
