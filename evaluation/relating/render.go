package relating

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Render writes the figures as tables.
func (r Report) Render(out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d pairs, %d of them changes; likeliest label right for %s\n", r.Pairs, r.Changes, score.Percent(r.Accuracy))
	table := func(write func(w io.Writer)) {
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		write(tw)
		tw.Flush() //nolint:errcheck,gosec // a buffer takes all
	}
	table(func(w io.Writer) {
		fmt.Fprint(w, "\nat\tthreshold\tchanges recognised\t95 %\treplaces\tends\tothers taken for one\t\n")
		for _, line := range []struct {
			name string
			At
		}{{"certain", r.Certain}, {"possible", r.Possible}, {"4 % false", r.AtBar}} {
			fmt.Fprintf(w, "%s\t%.4f\t%s\t%s..%s\t%s\t%s\t%s\t\n", line.name, line.Threshold, score.Percent(line.Recall),
				score.Percent(line.Within.Low), score.Percent(line.Within.High), score.Percent(line.Replaces), score.Percent(line.Ends),
				score.Percent(line.False))
		}
	})
	fmt.Fprintf(&b, "\nstatements of other pairs taken for changed: %d of %d; by at least one of up to %d: %d of %d statements\n",
		r.Strangers.Count, r.Strangers.Of, strangers, r.Statements.Count, r.Statements.Of)
	table(func(w io.Writer) {
		fmt.Fprint(w, "\ntrue \\ likeliest\t")
		for l := range relation.Label(relation.Labels) {
			fmt.Fprintf(w, "%s\t", l)
		}
		for l, counts := range r.Confusion {
			fmt.Fprintf(w, "\n%s\t", relation.Label(l)) //nolint:gosec // five of them
			for _, n := range counts {
				fmt.Fprintf(w, "%d\t", n)
			}
		}
		fmt.Fprintln(w)
	})
	table(func(w io.Writer) {
		fmt.Fprint(w, "\nprobability of a change\tpairs\ttold\tfound\t\n")
		for i, bin := range r.Reliability {
			fmt.Fprintf(w, "%.1f..%.1f\t%d\t%.3f\t%.3f\t\n", float64(i)/bins, float64(i+1)/bins, bin.Pairs, bin.Told, bin.Found)
		}
	})
	table(func(w io.Writer) {
		fmt.Fprint(w, "\nno change, by kind\tlabel\ttaken for one\tof\t\n")
		for _, k := range r.Kinds {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t\n", k.Name, k.Label, k.Count, k.Of)
		}
	})
	for _, list := range []struct {
		title string
		pairs []Judged
	}{{"taken for changes", r.FalseChanges}, {"changes missed", r.Misses}} {
		if len(list.pairs) > 0 {
			fmt.Fprintf(&b, "\n%s\n", list.title)
		}
		for _, j := range list.pairs {
			fmt.Fprintf(&b, "%.3f %s (%s): %s => %s\n", j.Change, j.Label, j.Kind, j.Stored, j.Later)
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}
