package evaluation

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Render writes what was asked, shown and cited, and how each tenant learned.
func (r LearningReport) Render(out io.Writer) error {
	w := &lines{out: out}
	w.print("%s; seed %d", r.Source, r.Seed)
	w.print("%d steps of each tenant's weights, each from %d reports; %d of %d candidates shown; a memory is cited where it rests on a turn of evidence,",
		r.Steps, r.Batch, r.Shown, r.Candidates)
	w.print("and a citation that is wrong names another memory shown in its place")
	w.print("feature rate %g, rate of the maps %g, radius %g; no order was drawn", r.FeatureRate, r.LearningRate, r.Radius)
	for _, t := range r.Tenants {
		w.print("tenant %s: %s; %d questions streamed, %d held out", t.Name, t.Habits, t.Streamed, t.HeldOut)
	}
	w.print("")
	if w.err != nil {
		return w.err
	}
	if err := r.renderRuns(out); err != nil {
		return err
	}
	w.print("\nuseful: share of the memories shown that rest on evidence; recall@5: of the evidence, on held-out questions")
	w.print("supervised: weights trained on the streamed questions with all evidence known; best: an order that knows the answers")
	for _, run := range r.Runs {
		if run.Wrong > 0 {
			continue
		}
		for _, t := range r.Tenants {
			if at, ok := run.Elsewhere[t.Name]; ok {
				w.print("weights of %s from %s, asked by %s: useful %s, recall@5 %s", run.Tenant, run.Start, t.Name, percent(at.Useful), percent(at.Recall5))
			}
		}
	}
	if r.Apart {
		w.print("each tenant's weights are to the bit those that it comes to alone")
	} else {
		w.print("! a tenant's weights are others than it comes to alone")
	}
	w.print("a report took %.0f us to learn from (p50; p99 %.0f us, of %d), its store in the process", r.Update.P50, r.Update.P99, r.Update.N)
	return w.err
}

// renderRuns has a line for each run, with its points thinned out to what fits a screen.
func (r LearningReport) renderRuns(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "tenant\tstart\twrong\tcited\t\t")
	for _, p := range thinned(r.Runs[0].Points) {
		fmt.Fprintf(tw, "%d\t", p.Step)
	}
	fmt.Fprint(tw, "supervised\tbest\t\n")
	for _, run := range r.Runs {
		about := r.tenant(run.Tenant)
		cited := fmt.Sprintf("%d of %d", run.Cited, run.Shown)
		row := func(lead, name string, value func(LearningPoint) string, supervised, best string) {
			fmt.Fprintf(tw, "%s\t%s\t", lead, name)
			for _, p := range thinned(run.Points) {
				fmt.Fprintf(tw, "%s\t", value(p))
			}
			fmt.Fprintf(tw, "%s\t%s\t\n", supervised, best)
		}
		row(run.Tenant+"\t"+run.Start+"\t"+strconv.Itoa(int(100*run.Wrong+0.5))+" %\t"+cited, "useful",
			func(p LearningPoint) string { return percent(p.Useful) }, percent(about.Supervised.Useful), percent(about.Best.Useful))
		row("\t\t\t", "recall@5", func(p LearningPoint) string { return percent(p.Recall5) }, percent(about.Supervised.Recall5), percent(about.Best.Recall5))
		row("\t\t\t", "distance", func(p LearningPoint) string { return fmt.Sprintf("%.2f", p.Distance) }, "", "")
	}
	return tw.Flush()
}

func (r LearningReport) tenant(name string) LearningTenant {
	for _, t := range r.Tenants {
		if t.Name == name {
			return t
		}
	}
	return LearningTenant{}
}

// thinned keeps the first point, the last, and some between.
func thinned(points []LearningPoint) []LearningPoint {
	const parts = 5
	last := len(points) - 1
	if last <= parts {
		return points
	}
	var out []LearningPoint
	for i := range parts {
		out = append(out, points[i*last/parts])
	}
	return append(out, points[last])
}
