package practice

import (
	"bytes"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/ranking"
)

const (
	// hiddenFeature marks the kind of memory that a changed prior hides. hiddenBy is the amount by which its weight
	// is lowered, in units of the feature's scale. The radius of learning does not let the weight come back as a
	// whole.
	hiddenFeature = "companions_tells_time"
	hiddenBy      = 1.5
	// tries is the number of draws of the last place for a question in the measurement of its cost.
	tries = 20
)

// Exploration has the costs and gains of exploration: the last place goes to a memory that would not be shown.
type Exploration struct {
	// Share is the share of recalls with exploration.
	Share float64 `json:"share"`
	// Costs are by tenant and number of memories shown, Gains by tenant.
	Costs []Cost `json:"costs"`
	Gains []Gain `json:"gains"`
}

// Cost is the cost of exploration for held-out questions, by the shipped prior.
type Cost struct {
	Tenant string `json:"tenant"`
	// Shown is the number of memories shown. The next fields are their shares of the evidence: by score, and with
	// some recalls exploring.
	Shown     int     `json:"shown"`
	ByScore   float64 `json:"by_score"`
	Exploring float64 `json:"exploring"`
}

// Gain is the gain of exploration for a tenant with a prior that hides a kind of memory.
type Gain struct {
	Tenant string `json:"tenant"`
	// Hidden is the feature that marks the kind.
	Hidden string `json:"hidden"`
	Steps  int    `json:"steps"`
	// Before is the recall@5 of held-out questions before learning. Without and With are the recalls after so many
	// steps without and with exploration, one for each seed.
	Before  float64   `json:"before"`
	Without []float64 `json:"without"`
	With    []float64 `json:"with"`
}

// explore measures costs and gains of exploration.
func explore(ctx context.Context, o Options, prior ranking.Prior, tenants []*practice) (Exploration, error) {
	out := Exploration{Share: o.Reranker.ExploreLast}
	for _, t := range tenants {
		for _, shown := range []int{5, 10} {
			c, err := t.cost(prior.Weights, shown, out.Share)
			if err != nil {
				return out, err
			}
			out.Costs = append(out.Costs, c)
		}
	}
	hiding, err := hide(prior)
	if err != nil {
		return out, err
	}
	for _, t := range tenants {
		g := Gain{Tenant: t.name, Hidden: hiddenFeature, Steps: o.Steps}
		before, err := quality(t.held, hiding.Weights, o.Shown)
		if err != nil {
			return out, err
		}
		g.Before = before.Recall5
		for seed := range uint64(o.Seeds) { //nolint:gosec // not negative
			o.Seed++
			for _, arm := range []struct {
				share float64
				into  *[]float64
			}{{0, &g.Without}, {out.Share, &g.With}} {
				o.Reranker.ExploreLast = arm.share
				final, err := finals(ctx, o, hiding, []*practice{t})
				if err != nil {
					return out, fmt.Errorf("seed %d: %w", seed, err)
				}
				after, err := quality(t.held, final[0], o.Shown)
				if err != nil {
					return out, err
				}
				*arm.into = append(*arm.into, after.Recall5)
			}
		}
		out.Gains = append(out.Gains, g)
		fmt.Fprintf(o.Progress, "%d steps of %s, %d times with and without exploration\n", o.Steps, t.name, o.Seeds)
	}
	return out, nil
}

// hide returns a prior that puts a kind of memory behind all others.
func hide(prior ranking.Prior) (ranking.Prior, error) {
	out := ranking.Prior{Names: prior.Names, Weights: prior.Weights.Clone()}
	for i, name := range prior.Names {
		if name == hiddenFeature {
			out.Weights.W[i] -= hiddenBy / prior.Weights.FeatureScale[i]
			return out, nil
		}
	}
	return out, fmt.Errorf("the prior has no feature %s", hiddenFeature)
}

// cost measures held-out questions by score, and with the last place drawn in a share of recalls.
func (p *practice) cost(w ranking.Weights, shown int, share float64) (Cost, error) {
	c := Cost{Tenant: p.name, Shown: shown}
	s := ranking.DefaultSettings()
	for q, e := range p.held {
		scores, err := w.Scores(e.asked, e.read)
		if err != nil {
			return c, fmt.Errorf("score candidates: %w", err)
		}
		order := ranking.Top(e.read, scores, shown)
		c.ByScore += e.covered(order)
		for try := range tries {
			tried, _ := s.Try(ranking.Chance(p.name, fmt.Sprintf("%d-%d", q, try)), scores, order)
			c.Exploring += e.covered(tried) / tries
		}
	}
	c.ByScore /= float64(len(p.held))
	c.Exploring = (1-share)*c.ByScore + share*c.Exploring/float64(len(p.held))
	return c, nil
}

// covered is the share of the evidence in the sources of candidates.
func (e exercise) covered(places []int) float64 {
	found := map[int]bool{}
	for _, place := range places {
		for _, turn := range e.covers[e.read[place].ID] {
			found[turn] = true
		}
	}
	return score.Share(len(found), e.evidence)
}

// render writes costs and gains.
func (x Exploration) render(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nexploration: in %s of recalls the last place goes to a memory that would not be shown\n",
		score.Percent(x.Share))
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "tenant\tshown\trecall by score\texploring\t\n")
	for _, c := range x.Costs {
		fmt.Fprintf(tw, "%s\t%d\t%.2f\t%.2f\t\n", c.Tenant, c.Shown, 100*c.ByScore, 100*c.Exploring)
	}
	_ = tw.Flush() // a buffer has no write errors
	fmt.Fprintf(b, "recall@5 where the prior puts memories with %s behind all others, before and after learning; mean "+
		"and 95 %% over seeds\n",
		hiddenFeature)
	fmt.Fprint(tw, "tenant\tsteps\tseeds\tbefore\twithout exploration\twith\tgain\t\n")
	for _, g := range x.Gains {
		gain := make([]float64, len(g.With))
		for i := range gain {
			gain[i] = g.With[i] - g.Without[i]
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", g.Tenant, g.Steps, len(g.With), score.Percent(g.Before),
			spread(g.Without), spread(g.With), spread(gain))
	}
	_ = tw.Flush()
}

// spread returns a mean with its interval, in percent.
func spread(values []float64) string {
	units := make([]score.Unit, len(values))
	for i, v := range values {
		units[i] = score.Unit{Sum: 100 * v, N: 1}
	}
	interval := score.Bootstrap(units)
	return fmt.Sprintf("%.1f (%.1f..%.1f)", score.Mean(units), interval.Low, interval.High)
}
