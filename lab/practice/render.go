package practice

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/score"
)

// Render writes the settings, the questions and the learning of each tenant.
func (r Report) Render(out io.Writer) error {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s; seed %d", r.Source, r.Seed)
	line("%d steps of each tenant's weights, each from %d reports; %d of %d candidates shown;", r.Steps, r.Batch, r.Shown,
		r.Candidates)
	line("a memory is cited where it rests on a turn of evidence, and a citation that is wrong names another memory " +
		"shown in its place")
	line("feature rate %g, rate of the maps %g, radius %g; no whole order was drawn", r.FeatureRate, r.LearningRate,
		r.Radius)
	for _, t := range r.Tenants {
		line("tenant %s: %s; %d questions streamed, %d held out", t.Name, t.Habits, t.Streamed, t.HeldOut)
	}
	line("")
	r.renderRuns(&b)
	line("\nuseful: share of the memories shown that rest on evidence; recall@5: of the evidence, on held-out questions")
	line("supervised: weights trained on the streamed questions with all evidence known; best: an order that knows " +
		"the answers")
	for _, run := range r.Runs {
		if run.Wrong > 0 {
			continue
		}
		for _, t := range r.Tenants {
			if at, ok := run.Elsewhere[t.Name]; ok {
				line("weights of %s from %s, asked by %s: useful %s, recall@5 %s",
					run.Tenant, run.Start, t.Name, score.Percent(at.Useful), score.Percent(at.Recall5))
			}
		}
	}
	r.Exploration.render(&b)
	line("")
	if r.Apart {
		line("each tenant's weights are to the bit those that it comes to alone")
	} else {
		line("! a tenant's weights are others than it comes to alone")
	}
	line("a report took %.0f us to learn from (p50; p99 %.0f us, of %d), its store in the process", r.Update.P50,
		r.Update.P99, r.Update.N)
	_, err := out.Write(b.Bytes())
	return err
}

// renderRuns writes lines for each run, with few enough points for a screen.
func (r Report) renderRuns(b *bytes.Buffer) {
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "tenant\tstart\twrong\tcited\t\t")
	for _, p := range thinned(r.Runs[0].Points) {
		fmt.Fprintf(tw, "%d\t", p.Step)
	}
	fmt.Fprint(tw, "supervised\tbest\t\n")
	for _, run := range r.Runs {
		var about Tenant
		for _, t := range r.Tenants {
			if t.Name == run.Tenant {
				about = t
			}
		}
		row := func(lead, name string, value func(Point) string, supervised, best string) {
			fmt.Fprintf(tw, "%s\t%s\t", lead, name)
			for _, p := range thinned(run.Points) {
				fmt.Fprintf(tw, "%s\t", value(p))
			}
			fmt.Fprintf(tw, "%s\t%s\t\n", supervised, best)
		}
		share := func(lead, name string, of func(Quality) float64) {
			value := func(p Point) string { return score.Percent(of(p.Quality)) }
			row(lead, name, value, score.Percent(of(about.Supervised)), score.Percent(of(about.Best)))
		}
		lead := fmt.Sprintf("%s\t%s\t%.0f %%\t%d of %d", run.Tenant, run.Start, 100*run.Wrong, run.Cited, run.Shown)
		share(lead, "useful", func(s Quality) float64 { return s.Useful })
		share("\t\t\t", "recall@5", func(s Quality) float64 { return s.Recall5 })
		row("\t\t\t", "distance", func(p Point) string { return strconv.FormatFloat(p.Distance, 'f', 2, 64) }, "", "")
	}
	_ = tw.Flush() // a buffer has no write errors
}

// thinned keeps the first point, the last, and some between them.
func thinned(points []Point) []Point {
	const parts = 5
	last := len(points) - 1
	if last <= parts {
		return points
	}
	var out []Point
	for i := range parts {
		out = append(out, points[i*last/parts])
	}
	return append(out, points[last])
}
