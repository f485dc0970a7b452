package recall

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/score"
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
