// Package learning shows that the reranker learns from citations, each tenant its own: simulated tenants ask, cite what rests on evidence,
// and held-out questions are measured on the way.
package practice

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// Options say how learning from citations is tried out.
type Options struct {
	// Path is a file of conversations with questions, of any form that ReadSubjects knows; empty means made-up conversations.
	Path string
	// Seed chooses what is made up, what is held out, the order of the questions and which citations are wrong.
	Seed uint64
	// Steps of a tenant's weights are taken, each from a batch of reports; a report comes every time a question is asked. Every is after
	// how many the held-out questions are measured.
	Steps, Every int
	// Candidates of a question are ordered, and the first Shown of them are shown.
	Candidates, Shown int
	// Conversations are made up for each tenant; every third is held out. Sessions is how many a conversation has; 0 draws it for each.
	Conversations, Sessions int
	// Wrong are the shares of citations that are wrong: each share is a run of its own.
	Wrong []float64
	// Seeds is how often learning is repeated to measure what exploration brings.
	Seeds int
	// Reranker are the settings of the reranker. Whole orders are not drawn, and rates are not limited, whatever they say.
	Reranker reranker.Settings
	// Generated has citations be those of the embedded generator's answers, and not of what rests on evidence.
	Generated bool
	// Progress takes lines for people; nil for nobody.
	Progress io.Writer
}

// Defaults are those of RMM's figure 6 as far as it tells them, with the reranker's settings as they are by default.
func Defaults() (Options, error) {
	settings, err := config.Load[reranker.Settings](nil)
	if err != nil {
		return Options{}, fmt.Errorf("settings of the reranker: %w", err)
	}
	return Options{
		Seed: 1, Steps: 1000, Every: 50, Candidates: 50, Shown: 5, Conversations: 24, Wrong: []float64{0, 0.1, 0.3}, Seeds: 5, Reranker: settings,
	}, nil
}

// Bounds of Options: those of the reranker where it has one, and against mistakes.
const (
	maxSteps         = 100_000
	maxCandidates    = 200
	maxShown         = 100
	maxConversations = 200
	maxSeeds         = 1000
)

func (o Options) validate() error {
	for _, n := range []struct {
		field              string
		value, least, most int
	}{
		{"steps", o.Steps, 1, maxSteps}, {"every", o.Every, 1, o.Steps}, {"candidates", o.Candidates, 2, maxCandidates},
		{"shown", o.Shown, 1, min(maxShown, o.Candidates)}, {"conversations", o.Conversations, 3, maxConversations},
		{"seeds", o.Seeds, 1, maxSeeds},
	} {
		if n.value < n.least || n.value > n.most {
			return fault.Terminal(n.field, "is %d, want %d to %d", n.value, n.least, n.most)
		}
	}
	if len(o.Wrong) == 0 {
		return fault.Terminal("wrong", "is empty, want at least one share")
	}
	for _, share := range o.Wrong {
		if !(share >= 0 && share <= 1) {
			return fault.Terminal("wrong", "has %v, want 0 to 1", share)
		}
	}
	return nil
}

// Names of what weights start from.
const (
	StartPrior     = "prior"
	StartUntrained = "untrained"
)

// Report is what was found.
type Report struct {
	// Source says what was asked about.
	Source string `json:"source"`
	Seed   uint64 `json:"seed"`
	// Steps were taken, of Batch reports each, with Candidates ordered and Shown of them shown.
	Steps      int `json:"steps"`
	Batch      int `json:"batch"`
	Candidates int `json:"candidates"`
	Shown      int `json:"shown"`
	// LearningRate to Radius are the settings of the reranker that were learned with.
	LearningRate float64 `json:"learning_rate"`
	FeatureRate  float64 `json:"feature_rate"`
	Radius       float64 `json:"radius"`
	// Tenants learned at the same time from one reranker.
	Tenants []Tenant `json:"tenants"`
	Runs    []Run    `json:"runs"`
	// Exploration is what exploring costs and brings.
	Exploration Exploration `json:"exploration"`
	// Apart says that each tenant's weights are to the bit what they are when it learns alone.
	Apart bool `json:"tenants_apart"`
	// Update is how long the reranker took to learn from a report, its store in the process, in microseconds.
	Update score.Percentiles `json:"update_us"`
}

// Tenant is a tenant with what its users ask.
type Tenant struct {
	Name string `json:"name"`
	// Habits say what its users are like.
	Habits string `json:"habits"`
	// Streamed are the questions that are asked and reported on, again and again in new order; HeldOut are those that are measured.
	Streamed int `json:"streamed_questions"`
	HeldOut  int `json:"heldout_questions"`
	// Best is what an order could reach that knows the answers.
	Best Quality `json:"best"`
	// Supervised is what weights reach that were trained on the streamed questions with all their evidence known.
	Supervised Quality `json:"supervised"`
}

// Quality is what an order of the held-out questions' candidates is worth.
type Quality struct {
	// Recall5 is the share of the evidence that the first five rest on, of all evidence.
	Recall5 float64 `json:"recall@5"`
	// Useful is the share of the memories shown that rest on evidence.
	Useful float64 `json:"useful"`
}

// Point is where a tenant's weights are after so many steps.
type Point struct {
	Step int `json:"step"`
	Quality
	// Asked is the share of useful memories among those shown in the stream since the point before; 0 at step 0.
	Asked float64 `json:"useful_asked"`
	// Distance of the weights from where they began.
	Distance float64 `json:"distance"`
}

// Run is how one tenant learned from one start.
type Run struct {
	Start  string  `json:"start"`
	Wrong  float64 `json:"wrong"`
	Tenant string  `json:"tenant"`
	// Points are in order of their steps, the first before any.
	Points []Point `json:"points"`
	// Shown memories were reported on, Cited of them as cited, WrongCited of these wrongly.
	Shown      int `json:"shown"`
	Cited      int `json:"cited"`
	WrongCited int `json:"wrong_cited"`
	// Elsewhere is what the weights at the end are worth on the held-out questions of each other tenant, by its name.
	Elsewhere map[string]Quality `json:"elsewhere"`
}

// Evaluate streams questions of two tenants through a reranker in the process, reports which of the memories shown rest on
// evidence as cited, and measures held-out questions on the way. Only times differ between runs of the same options.
func Evaluate(ctx context.Context, o Options) (Report, error) {
	if err := o.validate(); err != nil {
		return Report{}, err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	o.Reranker.Explore, o.Reranker.UserRate, o.Reranker.TenantRate = 0, math.MaxInt, math.MaxInt
	prior, err := features.Prior()
	if err != nil {
		return Report{}, err
	}
	tenants, err := practise(ctx, o, prior.Weights)
	if err != nil {
		return Report{}, err
	}
	report := Report{
		Source: source(o), Seed: o.Seed, Steps: o.Steps, Batch: o.Reranker.Batch, Candidates: o.Candidates, Shown: o.Shown,
		LearningRate: o.Reranker.LearningRate, FeatureRate: o.Reranker.FeatureRate, Radius: o.Reranker.Radius, Apart: true,
	}
	for _, t := range tenants {
		about, err := t.describe(ctx, o)
		if err != nil {
			return Report{}, err
		}
		report.Tenants = append(report.Tenants, about)
	}
	var took []float64
	for _, start := range starts(prior) {
		for _, wrong := range o.Wrong {
			began := time.Now()
			r := experiment{Options: o, start: start.name, prior: start.prior, wrong: wrong}
			if err := r.run(ctx, tenants, &report); err != nil {
				return Report{}, fmt.Errorf("from %s: %w", start.name, err)
			}
			took = append(took, r.took...)
			fmt.Fprintf(o.Progress, "%d steps from %s with %.0f %% of citations wrong: %.0f s\n",
				o.Steps, start.name, 100*wrong, time.Since(began).Seconds())
		}
	}
	report.Update = score.PercentilesOf(took)
	if report.Apart, err = apart(ctx, o, prior, tenants); err != nil {
		return Report{}, err
	}
	report.Exploration, err = explore(ctx, o, prior, tenants)
	return report, err
}

func source(o Options) string {
	if o.Path != "" {
		return o.Path
	}
	return "made-up conversations, in words that the prior was not trained on"
}

// start is what weights start from.
type start struct {
	name  string
	prior ranking.Prior
}

// starts are the shipped prior, and weights of nothing but the embeddings' cosine.
func starts(shipped ranking.Prior) []start {
	blank := ranking.Prior{Names: shipped.Names, Weights: shipped.Weights.Clone()}
	clear(blank.Weights.W)
	return []start{{StartPrior, shipped}, {StartUntrained, blank}}
}

// apart learns with each tenant alone, and says whether that comes to the same as beside the others.
func apart(ctx context.Context, o Options, prior ranking.Prior, tenants []*practice) (bool, error) {
	o.Steps = min(o.Steps, o.Every)
	together, err := finals(ctx, o, prior, tenants)
	if err != nil {
		return false, err
	}
	for i := range tenants {
		alone, err := finals(ctx, o, prior, tenants[i:i+1])
		if err != nil {
			return false, err
		}
		if !slices.Equal(alone[0].W, together[i].W) || !slices.Equal(alone[0].Aq, together[i].Aq) || !slices.Equal(alone[0].Am, together[i].Am) {
			return false, nil
		}
	}
	return true, nil
}

// Prepared are tenants whose questions can be learned from again and again, from weights of nothing but the embeddings' cosine.
type Prepared struct {
	tenants []*practice
	prior   ranking.Prior
}

// Prepare forms the memories of the options' tenants.
func Prepare(ctx context.Context, o Options) (*Prepared, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	prior, err := features.Prior()
	if err != nil {
		return nil, err
	}
	tenants, err := practise(ctx, o, prior.Weights)
	return &Prepared{tenants, starts(prior)[1].prior}, err
}

// Learn has the tenants learn by options, and returns by tenant what the weights are worth then on held-out questions. No steps leave them
// as they were.
func (p *Prepared) Learn(ctx context.Context, o Options) (map[string]Quality, error) {
	o.Every, o.Reranker.UserRate, o.Reranker.TenantRate = max(1, o.Steps), math.MaxInt, math.MaxInt
	final, err := finals(ctx, o, p.prior, p.tenants)
	if err != nil {
		return nil, err
	}
	out := map[string]Quality{}
	for i, t := range p.tenants {
		if out[t.name], err = quality(t.held, final[i], o.Shown); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// finals are the tenants' weights at the end of a run.
func finals(ctx context.Context, o Options, prior ranking.Prior, tenants []*practice) ([]ranking.Weights, error) {
	r := experiment{Options: o, start: StartPrior, prior: prior, wrong: o.Wrong[0]}
	var none Report
	err := r.run(ctx, tenants, &none)
	return r.final, err
}
