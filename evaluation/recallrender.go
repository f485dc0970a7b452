package evaluation

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
)

// column is one column of the table.
type column struct {
	name string
	Figures
}

// Render writes tables: recall by category beside the baselines, the cascade, and what it took.
func (r RecallReport) Render(out io.Writer) error {
	columns := []column{{"all", r.Figures}}
	for _, name := range slices.Sorted(maps.Keys(r.Categories)) {
		columns = append(columns, column{name, r.Categories[name]})
	}
	if err := r.renderFigures(out, columns); err != nil {
		return err
	}
	if err := r.renderBaselines(out); err != nil {
		return err
	}
	return r.renderCosts(out)
}

func (r RecallReport) renderFigures(out io.Writer, columns []column) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(Figures) string) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, c := range columns {
			fmt.Fprintf(tw, "%s\t", value(c.Figures))
		}
		fmt.Fprintf(tw, "\n")
	}
	fmt.Fprint(tw, "\t")
	for _, c := range columns {
		fmt.Fprintf(tw, "%s\t", c.name)
	}
	fmt.Fprintln(tw)
	row("questions", func(f Figures) string { return strconv.Itoa(f.Questions) })
	row("of them with evidence", func(f Figures) string { return strconv.Itoa(f.WithEvidence) })
	for _, k := range ranks() {
		at := strconv.Itoa(k)
		row("recall@"+at, func(f Figures) string { return measuredOr(f.WithEvidence, f.RecallAt[at]) })
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
		row("recall in "+at+" words", func(f Figures) string { return measuredOr(f.WithEvidence, f.RecallAtWords[at]) })
		row("95 %", func(f Figures) string { return f.interval(figureWords + at) })
	}
	row("containment@10", func(f Figures) string { return measuredOr(f.ShortAnswers, f.Containment) })
	row("abstained where it should", func(f Figures) string { return measuredOr(f.Unanswerable, f.Abstention) })
	row("where it should not", func(f Figures) string { return measuredOr(f.Questions-f.Unanswerable, f.FalseAbstention) })
	for _, name := range slices.Sorted(maps.Keys(r.Figures.Answers)) {
		row("answers: "+name, func(f Figures) string { return measuredOr(len(f.Answers), f.Answers[name]) })
	}
	row(fmt.Sprintf("lost (%d shown):", r.Memories), func(Figures) string { return "" })
	for _, stage := range CascadeStages() {
		row(stage, func(f Figures) string { return measuredOr(f.WithEvidence, f.Cascade[stage]) })
	}
	row("memory error", func(f Figures) string { return measuredOr(f.WithEvidence, f.Errors.Memory) })
	row("profile error", func(f Figures) string { return measuredOr(f.WithEvidence, f.Errors.Profile) })
	row("generation error", func(f Figures) string { return measuredOr(f.WithEvidence, f.Errors.Generation) })
	return tw.Flush()
}

// measuredOr is a share, or nothing where it was measured on nothing.
func measuredOr(n int, v float64) string {
	if n == 0 {
		return "-"
	}
	return percent(v)
}

func (f Figures) interval(name string) string {
	i, ok := f.Intervals[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f..%.1f", 100*i.Low, 100*i.High)
}

func (r RecallReport) renderBaselines(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\nbaselines\trecall@5\t@10\t@20\t500 words\t1,000\t2,000\tcontainment@10\t\n")
	line := func(name string, f Figures) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, k := range ranks() {
			fmt.Fprintf(tw, "%s\t", percent(f.RecallAt[strconv.Itoa(k)]))
		}
		for _, n := range wordBudgets() {
			_, ok := f.Intervals[figureWords+strconv.Itoa(n)]
			fmt.Fprintf(tw, "%s\t", measuredOr(int(truth(ok)), f.RecallAtWords[strconv.Itoa(n)]))
		}
		fmt.Fprintf(tw, "%s\t\n", measuredOr(f.ShortAnswers, f.Containment))
	}
	line("this", r.Figures)
	for _, name := range slices.Sorted(maps.Keys(r.Baselines)) {
		line(name, r.Baselines[name])
	}
	return tw.Flush()
}

func (r RecallReport) renderCosts(out io.Writer) error {
	w := &lines{out: out}
	w.print("\n%d users, %d sessions, %d turns, %d questions; %d memories hold (%.1f a user); the whole history is %.0f words a user",
		r.Counts.Users, r.Counts.Sessions, r.Counts.Turns, r.Counts.Questions, r.Counts.Memories, share(r.Counts.Memories, r.Counts.Users), r.HistoryWords)
	if f := r.Formation; f.N > 0 {
		w.print("a session was formed %.0f ms after its end (p50; p99 %.0f ms, of %d)", f.P50, f.P99, f.N)
	}
	if l := r.Latency; l != nil {
		w.print("recall p50 %.1f ms, p99 %.1f ms, of %d", l.P50, l.P99, l.N)
		if l.Floor != nil {
			w.print("  bare hybrid query p50 %.1f ms, p99 %.1f ms: ratio %.2f at p50, %.2f at p99", l.Floor.P50, l.Floor.P99, l.RatioP50, l.RatioP99)
		}
	}
	if r.Learned != nil {
		r.Learned.render(w)
	}
	w.print("formed by: %s; %d candidates; intervals drawn over %s", r.Path, r.Candidates, r.Resampled)
	w.print("evidence ids mended %d, dropped %d; events refused %d", r.Repairs["mended"], r.Repairs["dropped"], r.Counts.Refused)
	for _, what := range slices.Sorted(maps.Keys(r.Counts.Degraded)) {
		w.print("! %d recalls were degraded: %s", r.Counts.Degraded[what], what)
	}
	return w.err
}

// lines keeps the first error of several prints.
type lines struct {
	out io.Writer
	err error
}

func (l *lines) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.out, format+"\n", args...)
	}
}
