// Package practice shows that the reranker learns from citations, separately for each tenant. Simulated tenants ask
// and cite the memories with evidence. Held-out questions are measured on the way.
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

// Options are the options of a trial of learning from citations.
type Options struct {
	// Path is a file of conversations with questions, of any form that ReadSubjects knows. Empty means made-up
	// conversations.
	Path string
	// Seed chooses the made-up conversations, the held-out questions, the order of the questions and the wrong
	// citations.
	Seed uint64
	// Steps is the number of steps of a tenant's weights, each from a batch of reports. Each question gives a report.
	// Every is the number of steps between measurements of the held-out questions.
	Steps, Every int
	// Candidates is the number of ordered candidates of a question. Shown is the number of memories shown.
	Candidates, Shown int
	// Conversations is the number of made-up conversations for each tenant; every third is held out. Sessions is the
	// number of sessions of a conversation; 0 draws it for each.
	Conversations, Sessions int
	// Wrong are the shares of wrong citations. Each share is a separate run.
	Wrong []float64
	// Seeds is the number of repetitions of the measurement of exploration.
	Seeds int
	// Reranker are the settings of the reranker. Its settings of drawn orders and rate limits have no effect here.
	Reranker reranker.Settings
	// Progress takes lines for people. It may be nil.
	Progress io.Writer
}

// Defaults returns the options of RMM's figure 6, as far as the figure tells them, with the reranker's default
// settings.
func Defaults() (Options, error) {
	settings, err := config.Load[reranker.Settings](nil)
	if err != nil {
		return Options{}, fmt.Errorf("settings of the reranker: %w", err)
	}
	return Options{
		Seed: 1, Steps: 1000, Every: 50, Candidates: 50, Shown: 5, Conversations: 24, Wrong: []float64{0, 0.1, 0.3}, Seeds: 5,
		Reranker: settings,
	}, nil
}

// Bounds of Options: the reranker's bounds where it has one, else bounds to catch mistakes.
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

// Names of the starts of weights.
const (
	StartPrior     = "prior"
	StartUntrained = "untrained"
)

// Report has the results of a trial.
type Report struct {
	// Source names the source of the questions.
	Source string `json:"source"`
	Seed   uint64 `json:"seed"`
	// Steps is the number of steps taken, Batch the reports of a step, Candidates the ordered and Shown the shown
	// memories.
	Steps      int `json:"steps"`
	Batch      int `json:"batch"`
	Candidates int `json:"candidates"`
	Shown      int `json:"shown"`
	// LearningRate to Radius are the reranker's settings in this trial.
	LearningRate float64 `json:"learning_rate"`
	FeatureRate  float64 `json:"feature_rate"`
	Radius       float64 `json:"radius"`
	// Tenants have learned at the same time from one reranker.
	Tenants []Tenant `json:"tenants"`
	Runs    []Run    `json:"runs"`
	// Exploration has the costs and gains of exploration.
	Exploration Exploration `json:"exploration"`
	// Apart is true when each tenant's weights equal, bit by bit, its weights after learning alone.
	Apart bool `json:"tenants_apart"`
	// Update is the reranker's time for learning from a report, with its store in the process, in microseconds.
	Update score.Percentiles `json:"update_us"`
}

// Tenant is a tenant with its users' questions.
type Tenant struct {
	Name string `json:"name"`
	// Habits describe its users.
	Habits string `json:"habits"`
	// Streamed counts the questions that the users ask and report on, again and again in new order. HeldOut counts
	// the questions for measurement.
	Streamed int `json:"streamed_questions"`
	HeldOut  int `json:"heldout_questions"`
	// Best is the quality of an order by the known answers.
	Best Quality `json:"best"`
	// Supervised is the quality of weights trained on the streamed questions with all their evidence known.
	Supervised Quality `json:"supervised"`
}

// Quality is the quality of an order of the held-out questions' candidates.
type Quality struct {
	// Recall5 is the share of all evidence in the sources of the first five.
	Recall5 float64 `json:"recall@5"`
	// Useful is the share of the shown memories with evidence.
	Useful float64 `json:"useful"`
}

// Point is the state of a tenant's weights after some steps.
type Point struct {
	Step int `json:"step"`
	Quality
	// Asked is the share of useful memories among those shown in the stream since the last point. It is 0 at step 0.
	Asked float64 `json:"useful_asked"`
	// Distance is the distance of the weights from their start.
	Distance float64 `json:"distance"`
}

// Run is the learning of one tenant from one start.
type Run struct {
	Start  string  `json:"start"`
	Wrong  float64 `json:"wrong"`
	Tenant string  `json:"tenant"`
	// Points are in order of their steps. The first is before any step.
	Points []Point `json:"points"`
	// Shown is the number of reported memories, Cited the number of cited ones, WrongCited the number of wrong
	// citations.
	Shown      int `json:"shown"`
	Cited      int `json:"cited"`
	WrongCited int `json:"wrong_cited"`
	// Elsewhere is the quality of the final weights on the held-out questions of each other tenant, by its name.
	Elsewhere map[string]Quality `json:"elsewhere"`
}

// Evaluate streams questions of two tenants through a reranker in the process. It reports the shown memories with
// evidence as cited, and measures held-out questions on the way. Runs of the same options differ only in times.
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

// start is a start of weights.
type start struct {
	name  string
	prior ranking.Prior
}

// starts returns the shipped prior, and weights with only the embeddings' cosine.
func starts(shipped ranking.Prior) []start {
	blank := ranking.Prior{Names: shipped.Names, Weights: shipped.Weights.Clone()}
	clear(blank.Weights.W)
	return []start{{StartPrior, shipped}, {StartUntrained, blank}}
}

// apart learns with each tenant alone, and reports whether the result equals the result with all tenants.
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
		if !slices.Equal(alone[0].W, together[i].W) || !slices.Equal(alone[0].Aq, together[i].Aq) ||
			!slices.Equal(alone[0].Am, together[i].Am) {
			return false, nil
		}
	}
	return true, nil
}

// finals returns the tenants' weights at the end of a run.
func finals(ctx context.Context, o Options, prior ranking.Prior, tenants []*practice) ([]ranking.Weights, error) {
	r := experiment{Options: o, start: StartPrior, prior: prior, wrong: o.Wrong[0]}
	var none Report
	err := r.run(ctx, tenants, &none)
	return r.final, err
}
