package recall

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/score"
)

// column is one column of the table.
type column struct {
	name string
	Figures
}

// Render writes four tables: recall by category with the cascade, recall of variants and baselines, the sweep, and
// the costs.
func (r Report) Render(out io.Writer) error {
	columns := []column{{"all", r.Figures}}
	for _, name := range slices.Sorted(maps.Keys(r.Categories)) {
		columns = append(columns, column{name, r.Categories[name]})
	}
	var b bytes.Buffer
	r.renderFigures(&b, columns)
	r.renderBaselines(&b)
	r.renderSweep(&b)
	r.renderCosts(&b)
	_, err := out.Write(b.Bytes())
	return err
}

func (r Report) renderFigures(b *bytes.Buffer, columns []column) {
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\t")
	for _, c := range columns {
		fmt.Fprintf(tw, "%s\t", c.name)
	}
	fmt.Fprintln(tw)
	row := func(name string, value func(Figures) string) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, c := range columns {
			fmt.Fprintf(tw, "%s\t", value(c.Figures))
		}
		fmt.Fprintf(tw, "\n")
	}
	withEvidence := func(name string, value func(Figures) float64) {
		row(name, func(f Figures) string { return measuredOr(f.WithEvidence, value(f)) })
	}
	row("questions", func(f Figures) string { return strconv.Itoa(f.Questions) })
	row("of them with evidence", func(f Figures) string { return strconv.Itoa(f.WithEvidence) })
	for _, k := range ranks() {
		at := strconv.Itoa(k)
		withEvidence("recall@"+at, func(f Figures) float64 { return f.RecallAt[at] })
		row("95 %", func(f Figures) string { return f.interval(figureRecall + at) })
	}
	if r.SessionsAt != nil {
		for _, k := range ranks() {
			at := strconv.Itoa(k)
			row("sessions@"+at, func(f Figures) string { return measuredOr(len(f.SessionsAt), f.SessionsAt[at]) })
		}
	}
	for _, n := range wordBudgets() {
		at := strconv.Itoa(n)
		withEvidence("recall in "+at+" words", func(f Figures) float64 { return f.RecallAtWords[at] })
		row("95 %", func(f Figures) string { return f.interval(figureWords + at) })
	}
	row(fmt.Sprintf("recall in a profile of %d", r.Memories), func(f Figures) string {
		return f.measured(figureProfile, f.Profile)
	})
	row("95 %", func(f Figures) string { return f.interval(figureProfile) })
	row("containment@10", func(f Figures) string { return measuredOr(f.ShortAnswers, f.Containment) })
	row("abstained where it should", func(f Figures) string { return measuredOr(f.Unanswerable, f.Abstention) })
	row("where it should not", func(f Figures) string { return measuredOr(f.Questions-f.Unanswerable, f.FalseAbstention) })
	for _, name := range slices.Sorted(maps.Keys(r.Figures.Answers)) {
		row("answers: "+name, func(f Figures) string { return measuredOr(len(f.Answers), f.Answers[name]) })
	}
	row(fmt.Sprintf("lost (%d shown):", r.Memories), func(Figures) string { return "" })
	for _, stage := range CascadeStages() {
		withEvidence(stage, func(f Figures) float64 { return f.Cascade[stage] })
	}
	withEvidence("memory error", func(f Figures) float64 { return f.Errors.Memory })
	withEvidence("profile error", func(f Figures) float64 { return f.Errors.Profile })
	withEvidence("generation error", func(f Figures) float64 { return f.Errors.Generation })
	_ = tw.Flush() // a write to a buffer never fails
}

// measuredOr formats a share. It returns an empty text if n is 0.
func measuredOr(n int, v float64) string {
	if n == 0 {
		return "-"
	}
	return score.Percent(v)
}

// measured formats a share. It returns an empty text without a figure of that name.
func (f Figures) measured(name string, v float64) string {
	_, ok := f.Intervals[name]
	return measuredOr(int(truth(ok)), v)
}

func (f Figures) interval(name string) string {
	i, ok := f.Intervals[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f..%.1f", 100*i.Low, 100*i.High)
}

func (r Report) renderBaselines(b *bytes.Buffer) {
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\n\trecall@5\t@10\t95 %%\t@20\t500 words\t1,000\t2,000\tprofile of %d\tcontainment@10\t", r.Memories)
	fmt.Fprintf(tw, "from the bank's search\t\n")
	line := func(name string, f Figures) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, k := range ranks() {
			fmt.Fprintf(tw, "%s\t", score.Percent(f.RecallAt[strconv.Itoa(k)]))
			if k == containedAt {
				fmt.Fprintf(tw, "%s\t", f.interval(figureRecall+strconv.Itoa(k)))
			}
		}
		for _, n := range wordBudgets() {
			fmt.Fprintf(tw, "%s\t", f.measured(figureWords+strconv.Itoa(n), f.RecallAtWords[strconv.Itoa(n)]))
		}
		fmt.Fprintf(tw, "%s\t", f.measured(figureProfile, f.Profile))
		fmt.Fprintf(tw, "%s\t%s\t\n", f.measured(figureContainment, f.Containment), f.measured(figureSearched, f.Searched))
	}
	line("this", r.Figures)
	for _, v := range r.Variants {
		line(v.Name, v.Figures)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Baselines)) {
		line(name, r.Baselines[name])
	}
	_ = tw.Flush() // a write to a buffer never fails
}

func (r Report) renderSweep(b *bytes.Buffer) {
	if len(r.Sweep) == 0 {
		return
	}
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\nsweep\tcandidates\t")
	for _, k := range ranks() {
		fmt.Fprintf(tw, "recall@%d\t95 %%\t", k)
	}
	fmt.Fprintln(tw)
	for _, s := range r.Sweep {
		fmt.Fprintf(tw, "%s\t%d\t", s.Weights, s.Candidates)
		for _, k := range ranks() {
			at := strconv.Itoa(k)
			fmt.Fprintf(tw, "%s\t%s\t", score.Percent(s.RecallAt[at]), s.interval(figureRecall+at))
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush() // a write to a buffer never fails
}

func (r Report) renderCosts(b *bytes.Buffer) {
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	c := r.Counts
	line("\n%d users, %d sessions, %d turns, %d questions; %d memories hold (%.1f a user); the whole history is %.0f "+
		"words a user",
		c.Users, c.Sessions, c.Turns, c.Questions, c.Memories, score.Share(c.Memories, c.Users), r.HistoryWords)
	if f := r.Formation; f.N > 0 {
		line("a session was formed %.0f ms after its end (p50; p99 %.0f ms, of %d)", f.P50, f.P99, f.N)
	}
	if l := r.Latency; l != nil {
		line("recall p50 %.1f ms, p99 %.1f ms, of %d", l.P50, l.P99, l.N)
		if l.Bare != nil {
			line("  bare hybrid query p50 %.1f ms, p99 %.1f ms: ratio %.2f at p50, %.2f at p99", l.Bare.P50, l.Bare.P99,
				l.RatioP50, l.RatioP99)
		}
	}
	if r.Learned != nil {
		r.Learned.render(line)
	}
	line("formed by: %s; %d candidates; intervals drawn over %s", r.Path, r.Candidates, r.Resampled)
	line("evidence ids repaired %d, dropped %d; events refused %d", r.Repairs.Repaired, r.Repairs.Dropped, c.Refused)
	for _, what := range slices.Sorted(maps.Keys(c.Degraded)) {
		line("! %d recalls were degraded: %s", c.Degraded[what], what)
	}
}
