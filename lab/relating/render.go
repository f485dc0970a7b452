package relating

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/score"
)

// Render writes the figures as tables.
func (r Report) Render(out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d statements, %d of them changes\n", r.Statements, r.Changes)
	table := func(write func(w io.Writer)) {
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		write(tw)
		tw.Flush() //nolint:errcheck,gosec // a buffer has no write errors
	}
	table(func(w io.Writer) {
		fmt.Fprint(w, "\nat\tthreshold\tclose the right entry\t95 %\treplaces\tends\tclose another\tothers close any\t\n")
		for _, line := range []struct {
			name string
			At
		}{{"certain", r.Certain}, {"possible", r.Possible}, {"4 % false", r.AtBar}} {
			fmt.Fprintf(w, "%s\t%.4f\t%s\t%s..%s\t%s\t%s\t%s\t%s\t\n", line.name, line.Threshold, score.Percent(line.Right),
				score.Percent(line.Within.Low), score.Percent(line.Within.High), score.Percent(line.Replaces),
				score.Percent(line.Ends),
				score.Percent(line.Wrong), score.Percent(line.False))
		}
	})
	table(func(w io.Writer) {
		fmt.Fprint(w, "\nprobability of a change\tstatements\ttold\tfound\t\n")
		for i, bin := range r.Reliability {
			fmt.Fprintf(w, "%.1f..%.1f\t%d\t%.3f\t%.3f\t\n", float64(i)/bins, float64(i+1)/bins, bin.Statements, bin.Told,
				bin.Found)
		}
	})
	table(func(w io.Writer) {
		fmt.Fprint(w, "\nno change, by kind\tlabel\tclose any\tof\t\n")
		for _, k := range r.Kinds {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t\n", k.Name, k.Label, k.Count, k.Of)
		}
	})
	for _, list := range []struct {
		title  string
		judged []Judged
	}{{"taken for changes", r.FalseChanges}, {"changes missed", r.Misses}} {
		if len(list.judged) > 0 {
			fmt.Fprintf(&b, "\n%s\n", list.title)
		}
		for _, j := range list.judged {
			fmt.Fprintf(&b, "%.3f %s (%s): %s => %s\n", j.Change, j.label, j.Kind, j.Stored, j.Later)
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}
