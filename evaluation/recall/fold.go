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

// FoldOptions configure the measurement of recall after learning. For each conversation in turn, the service answers
// the questions of the other conversations. Memories that rest on evidence are reported as cited. Then the
// conversation itself is measured, and the weights are rolled back. The tenant's weights must equal the prior at the
// start, and they equal it at the end.
type FoldOptions struct {
	// Candidates is the number of ranked candidates in the stream. Shown is the number of memories that a recall
	// returns and a report covers.
	Candidates, Shown int
	// Passes is the number of passes over the stream. Each pass has another order, derived from Seed.
	Passes int
	Seed   uint64
	// Batch is the number of reports in one learning step of the service.
	Batch int
	// Wait limits the time until the service has learned from the reports.
	Wait time.Duration
}

// FoldDefaults returns the default options.
func FoldDefaults() FoldOptions {
	return FoldOptions{Candidates: 100, Shown: 20, Passes: 1, Seed: 1, Batch: 4, Wait: time.Minute}
}

// FoldReport is the result of learning from the other conversations.
type FoldReport struct {
	// Candidates to Passes repeat the options.
	Candidates int `json:"candidates"`
	Shown      int `json:"shown"`
	Passes     int `json:"passes"`
	// Before and After are evidence shares by the number of returned memories. They are means over all questions with
	// evidence.
	Before map[string]float64 `json:"recall_at_before"`
	After  map[string]float64 `json:"recall_at_after"`
	Folds  []Fold             `json:"folds"`
}

// Fold is the result for one left-out conversation.
type Fold struct {
	User string `json:"user"`
	// Questions is the number of its measured questions.
	Questions int `json:"questions"`
	// Reports is the number of reports that the service learned from. Shown and Cited count the memories in them.
	Reports int `json:"reports"`
	Shown   int `json:"shown"`
	Cited   int `json:"cited"`
	// Distance is the distance of the weights from the prior.
	Distance float64            `json:"distance"`
	Before   map[string]float64 `json:"recall_at_before"`
	After    map[string]float64 `json:"recall_at_after"`
}

// ErrNotTheWeightsOfTheStart says that the tenant's weights have learned already. Learning cannot be measured from
// them.
var ErrNotTheWeightsOfTheStart = errors.New("the tenant's weights are not the shared prior")

var errNotLearned = errors.New("not every citation report changed the weights in time: is the reranker's rate " +
	"limited, or its consumer unavailable?")

// reportedAtOnce limits the reports in flight. It is below the number of traces kept per user.
const reportedAtOnce = 32

// check returns an error if the options or conversations do not allow learning.
func (o *FoldOptions) check(subjects []dataset.Subject) error {
	if o != nil && len(subjects) < 2 {
		return fmt.Errorf("%w: want two conversations or more, because each learns from the others", dataset.ErrFormat)
	}
	return nil
}

// fold measures recall after learning, if configured.
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
		r.logf("learned from %d reports, measured %s", f.Reports, f.User)
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

// stream sends the questions of the other conversations and reports the citations, a few at a time.
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
		// Send whole batches only. Reports of an incomplete batch would be learned in the next conversation.
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

// reportSome recalls for some questions, several at a time, and reports the memories that rest on evidence.
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

// citations returns a report of the memories that rest on the question's evidence.
func (a *asked) citations(res *mnemev1.RecallResponse) *mnemev1.ReportCitationsRequest {
	out := &mnemev1.ReportCitationsRequest{UserId: a.of.Scope.User, RecallId: res.GetRecallId()}
	for _, c := range res.GetCited() {
		m := c.GetMemory()
		out.ShownIds = append(out.ShownIds, m.GetId())
		if slices.ContainsFunc(m.GetSourceTurnIds(), func(id string) bool {
			return slices.Contains(a.question.Evidence, id)
		}) {
			out.CitedIds = append(out.CitedIds, m.GetId())
		}
	}
	return out
}

// awaitLearned waits until the service has learned from the given total of reports.
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

// weights returns the tenant's weights version in use.
func (r *run) weights(ctx context.Context) (*mnemev1.WeightsVersion, error) {
	res, err := r.Service.Reranker.ListWeights(ctx, connect.NewRequest(&mnemev1.ListWeightsRequest{}))
	if err != nil {
		return nil, fmt.Errorf("list weights: %w", err)
	}
	return res.Msg.GetVersions()[0], nil
}

func (r *run) rollback(ctx context.Context) error {
	if _, err := r.Service.Reranker.RollbackWeights(ctx,
		connect.NewRequest(&mnemev1.RollbackWeightsRequest{Version: 0})); err != nil {
		return fmt.Errorf("roll back weights: %w", err)
	}
	return nil
}

// render writes the figures before and after learning.
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
