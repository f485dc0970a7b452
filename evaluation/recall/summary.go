package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/score"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// multiHop is LoCoMo's category of questions that need several pieces of evidence.
const multiHop = "multi-hop"

// Summarise writes one table of several reports, one column each, with Mneme's main figures and their intervals.
func Summarise(reports []Report, out io.Writer) error {
	var b bytes.Buffer
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(Report) string) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, r := range reports {
			fmt.Fprintf(tw, "%s\t", value(r))
		}
		fmt.Fprintln(tw)
	}
	share := func(name, figure string, value func(Report) (Figures, float64)) {
		row(name, func(r Report) string {
			f, v := value(r)
			if _, ok := f.Intervals[figure]; !ok {
				return "-"
			}
			return score.Percent(v) + " (" + f.interval(figure) + ")"
		})
	}
	fmt.Fprintln(tw)
	row("all data sets", func(r Report) string {
		return filepath.Join(filepath.Base(filepath.Dir(r.File)), filepath.Base(r.File))
	})
	for _, k := range ranks() {
		at := strconv.Itoa(k)
		share("recall@"+at, figureRecall+at, func(r Report) (Figures, float64) { return r.Figures, r.RecallAt[at] })
	}
	share("multi-hop recall@10", figureRecall+"10", func(r Report) (Figures, float64) {
		f := r.Categories[multiHop]
		return f, f.RecallAt["10"]
	})
	words := strconv.Itoa(judgedWords)
	share("recall in "+words+" words", figureWords+words, func(r Report) (Figures, float64) {
		return r.Figures, r.RecallAtWords[words]
	})
	share("recall in profiles", figureProfile, func(r Report) (Figures, float64) { return r.Figures, r.Profile })
	share("containment@10", figureContainment, func(r Report) (Figures, float64) { return r.Figures, r.Containment })
	row("memory error", func(r Report) string { return measuredOr(r.WithEvidence, r.Errors.Memory) })
	row("profile error", func(r Report) string { return measuredOr(r.WithEvidence, r.Errors.Profile) })
	row("generation error", func(r Report) string { return measuredOr(r.WithEvidence, r.Errors.Generation) })
	share("abstained where it should", figureAbstention, func(r Report) (Figures, float64) {
		return r.Figures, r.Abstention
	})
	share("where it should not", figureFalse, func(r Report) (Figures, float64) { return r.Figures, r.FalseAbstention })
	for _, v := range reports[0].Variants {
		share(v.Name+", recall@10", figureRecall+"10", func(r Report) (Figures, float64) { return r.variant(v.Name) })
	}
	row("time to a bare query's, p50 / p99", func(r Report) string {
		if r.Latency == nil || r.Latency.Bare == nil {
			return "-"
		}
		return fmt.Sprintf("%.2f / %.2f", r.Latency.RatioP50, r.Latency.RatioP99)
	})
	_ = tw.Flush() // a write to a buffer never fails
	_, err := out.Write(b.Bytes())
	return err
}

// variant returns a variant's figures and its recall@10.
func (r Report) variant(name string) (Figures, float64) {
	for _, v := range r.Variants {
		if v.Name == name {
			return v.Figures, v.RecallAt["10"]
		}
	}
	return Figures{}, 0
}

// warmUp is the number of query pairs before the first timed pair.
const warmUp = 40

// timing is the durations of one recall and one bare query, in milliseconds.
type timing struct {
	category   string
	ours, bare float64
}

// time measures recalls with default options, one at a time. After each recall or before it, a bare query requests as
// many memories of the same user. Each text is sent once only, so that no cache answers it.
func (r *run) time(ctx context.Context) error {
	if r.LatencySample < 0 {
		return nil
	}
	if !slices.ContainsFunc(r.subjects, func(s *examined) bool { return len(s.entries) > 0 }) {
		r.logf("nothing is remembered: there is nothing to time")
		return nil
	}
	began := time.Now()
	for i := range warmUp + r.LatencySample {
		// A stride without a common divisor with the number of questions visits every question before it repeats one.
		// It alternates evenly between users.
		a := r.asked[i*stride(len(r.asked))%len(r.asked)]
		t, err := r.timeOne(ctx, a, i)
		if err != nil {
			return fmt.Errorf("time a question of user %s: %w", a.of.Scope.User, err)
		}
		if i >= warmUp {
			r.timed = append(r.timed, t)
		}
	}
	r.logf("timed %d recalls, %.0f s", len(r.timed), time.Since(began).Seconds())
	return nil
}

// stride returns a number near the golden ratio of n without a common divisor with n.
func stride(n int) int {
	s := max(1, int(float64(n)*0.618))
	for gcd(s, n) != 1 {
		s++
	}
	return s
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// timeOne times the recall and the bare query. Their order alternates.
func (r *run) timeOne(ctx context.Context, a *asked, i int) (t timing, err error) {
	t.category = a.question.Category
	query := fmt.Sprintf("%s (%d)", a.question.Text, i)
	ours := func() error {
		began := time.Now()
		res, err := r.Service.Utilizer.Recall(ctx,
			connect.NewRequest(&mnemev1.RecallRequest{UserId: a.of.Scope.User, Query: query}))
		t.ours = milliseconds(time.Since(began))
		if err == nil {
			r.note(res.Msg, "")
		}
		return err
	}
	bare := func() error {
		if r.Bare == nil {
			return nil
		}
		took, err := r.Bare(ctx, a.of.Scope.User, query, bank.DefaultK)
		t.bare = milliseconds(took)
		return err
	}
	first, second := ours, bare
	if i%2 == 1 {
		first, second = bare, ours
	}
	err = errors.Join(first(), second())
	return t, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
