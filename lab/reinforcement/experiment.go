package reinforcement

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mneme-memory/mneme/lab/learning"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Estimate is a mean over the seeds with a measurement, and half of its 95 % interval by Student's t.
type Estimate struct {
	Mean float64 `json:"mean"`
	// Half is 0 without an interval, as for one seed.
	Half  float64 `json:"half"`
	Seeds int     `json:"seeds"`
}

// estimate returns the estimate of at least one value.
func estimate(values []float64) Estimate {
	out, n := Estimate{Mean: stat.Mean(values, nil), Seeds: len(values)}, float64(len(values))
	if len(values) > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		out.Half = t * stat.StdDev(values, nil) / math.Sqrt(n)
	}
	return out
}

// Measures are estimates by the name of the measure.
type Measures map[string]Estimate

// Experiment is a paper's claim with its measurements.
type Experiment struct {
	// Paper names the paper. Claim states its claim in our words.
	Paper string `json:"paper"`
	Claim string `json:"claim"`
	Arms  []Arm  `json:"arms"`
}

// Arm is one variant of an experiment. Measures have the estimates over Seeds by name. Measures of people have the
// words in their names: "update_hits/train" for training words, "update_hits/heldout" for other words. Beside has the
// differences to the earlier arms of the same start, seed by seed, by the names of the arms.
type Arm struct {
	Name string `json:"name"`
	// Start names the start of the trainings: weak or shipped. It is empty without training.
	Start    string              `json:"start,omitempty"`
	Seeds    int                 `json:"seeds"`
	Measures Measures            `json:"measures"`
	Beside   map[string]Measures `json:"beside,omitempty"`
	// Curve has the mean rewards of the training people, in order. Steps has the number of sessions formed so far.
	Curve []Estimate `json:"curve,omitempty"`
	Steps []float64  `json:"steps,omitempty"`
}

// Starts of trainings.
const (
	StartWeak    = "weak"
	StartShipped = "shipped"
)

// ExperimentOptions are the options of experiments.
type ExperimentOptions struct {
	// Seeds is the number of paired seeds of each arm. Held is the number of other people for the measurement, of
	// each kind of words.
	Seeds, Held int
	// Starts are the starts of the trainings.
	Starts []string
	// Continuations is the number of continuations of a life that estimate the value of a draw.
	Continuations int
	// Long is the length of a curriculum's longest lives, as a multiple of the shortest: 1, 2, 4 and so on.
	Long int
	// Options are the common options of all trainings.
	Options Options
	// Total gets the number of tries, Progress each finished try. Both may be nil.
	Total    func(int)
	Progress func()
}

// ExperimentDefaults returns ten paired seeds of small trainings, from both starts.
func ExperimentDefaults() ExperimentOptions {
	o := ExperimentOptions{
		Seeds: 10, Held: 4, Continuations: 64, Long: 4, Starts: []string{StartWeak, StartShipped}, Options: Defaults(),
	}
	o.Options.Persons, o.Options.Sessions = 6, 6
	return o
}

// Quick returns settings for a run of some minutes. Its intervals are wide.
func (o ExperimentOptions) Quick() ExperimentOptions {
	o.Seeds, o.Held, o.Continuations, o.Starts = 3, 2, 16, []string{StartWeak}
	o.Options.Persons, o.Options.Sessions, o.Options.Group = 3, 6, 4
	return o
}

// Validate reports a setting that is out of range.
func (o ExperimentOptions) Validate() error {
	for _, n := range []struct {
		field string
		value int
	}{{"seeds", o.Seeds}, {"held", o.Held}, {"continuations", o.Continuations}, {"long", o.Long}, {"starts", len(o.Starts)}} {
		if n.value < 1 || n.value > 1000 {
			return fault.Terminal(n.field, "is %d, want 1 to 1000", n.value)
		}
	}
	if o.Long&(o.Long-1) != 0 {
		return fault.Terminal("long", "is %d, want a power of two: lives of a curriculum get twice as long at a time", o.Long)
	}
	for _, s := range o.Starts {
		if s != StartWeak && s != StartShipped {
			return fault.Terminal("starts", "have %q, want %q or %q", s, StartWeak, StartShipped)
		}
	}
	return o.Options.Validate()
}

func (o ExperimentOptions) progress(total int) func() {
	if o.Total != nil {
		o.Total(total)
	}
	if o.Progress != nil {
		return o.Progress
	}
	return func() {}
}

// trial is the result of one try of an arm.
type trial struct {
	measures map[string]float64
	record   Record
}

// training is an arm with a training. Without a change it is the untrained start.
type training struct {
	name   string
	change func(*Options)
}

// trained tries trainings with all starts and seeds, one seed a core.
func (o ExperimentOptions) trained(ctx context.Context, arms []training) ([]Arm, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	trials := make([]trial, len(o.Starts)*len(arms)*o.Seeds)
	done := o.progress(len(trials))
	err := each(ctx, o.Seeds, func(ctx context.Context, seed int) (err error) {
		known := newKnown()
		for i := seed; i < len(trials); i += o.Seeds {
			arm, start := arms[i/o.Seeds%len(arms)], o.Starts[i/o.Seeds/len(arms)]
			if trials[i], err = o.train(ctx, arm, start, seed, known); err != nil {
				return fmt.Errorf("arm %q, seed %d: %w", arm.name, seed+1, err)
			}
			done()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(arms))
	for i, arm := range arms {
		names[i] = arm.name
	}
	var out []Arm
	for of := range slices.Chunk(trials, len(arms)*o.Seeds) {
		out = append(out, reports(o.Starts[len(out)/len(arms)], names, of)...)
	}
	return out, nil
}

// reports returns the estimates of the arms of one start. The trials are in order of arms, one trial a seed.
func reports(start string, names []string, trials []trial) []Arm {
	seeds := len(trials) / len(names)
	out := make([]Arm, len(names))
	for a, name := range names {
		of := trials[a*seeds:][:seeds]
		out[a] = Arm{Name: name, Start: start, Seeds: seeds, Measures: differences(of, nil)}
		for b, other := range names[:a] {
			if out[a].Beside == nil {
				out[a].Beside = map[string]Measures{}
			}
			out[a].Beside[other] = differences(of, trials[b*seeds:][:seeds])
		}
		for i := range of[0].record.Rewards {
			rewards, steps := make([]float64, seeds), 0.0
			for j, t := range of {
				rewards[j] = t.record.Rewards[i]
				steps += float64(t.record.At[i]) / float64(seeds)
			}
			out[a].Curve, out[a].Steps = append(out[a].Curve, estimate(rewards)), append(out[a].Steps, steps)
		}
	}
	return out
}

// differences returns the estimates of paired differences between tries and others of the same seeds, for measures in
// both. Without others it returns the estimates of the tries.
func differences(of, others []trial) Measures {
	values := map[string][]float64{}
	for i, t := range of {
		for measure, v := range t.measures {
			if others == nil {
				values[measure] = append(values[measure], v)
			} else if other, both := others[i].measures[measure]; both {
				values[measure] = append(values[measure], v-other)
			}
		}
	}
	out := Measures{}
	for measure, v := range values {
		out[measure] = estimate(v)
	}
	return out
}

// heldSeeds is the first seed of the people for measurement.
const heldSeeds = 50_000

func (o ExperimentOptions) train(ctx context.Context, arm training, start string, seed int, known *known) (trial, error) {
	p := o.Options
	p.Seed, p.Weak = uint64(seed)+1, start == StartWeak //nolint:gosec // not negative
	s := Start(p)
	if arm.change != nil {
		arm.change(&p)
		var err error
		if s, err = train(ctx, p, Start(p), nil, known); err != nil {
			return trial{}, err
		}
	}
	out := trial{measures: map[string]float64{}, record: s.Record}
	if arm.change != nil {
		out.measures["same_reward"] = s.Record.SameReward()
	}
	for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
		people, err := o.heldOut(seed, split)
		if err != nil {
			return trial{}, err
		}
		m, err := measure(ctx, s.Policy, people, known, decided(s.Policy))
		if err != nil {
			return trial{}, err
		}
		for name, v := range m.Shares() {
			out.measures[name+"/"+string(split)] = v
		}
	}
	return out, nil
}

// heldOut returns the people for the measurement of a seed.
func (o ExperimentOptions) heldOut(seed int, split synthesis.Split) ([]synthesis.Person, error) {
	return synthesis.Generate(synthesis.Options{
		Seed: heldSeeds + uint64(seed), Persons: o.Held, Sessions: o.Options.Sessions, Split: split, //nolint:gosec // not negative
	})
}

// DeltaMem tries its reward of the state's transition (arXiv 2604.01560, 3.3), and variants of the reward.
func DeltaMem(ctx context.Context, o ExperimentOptions) (Experiment, error) {
	tau := func(t float64) func(*Options) { return func(o *Options) { o.Transition.Tau = t } }
	arms, err := o.trained(ctx, []training{
		{"transition", func(*Options) {}},
		{"questions alone", func(o *Options) { o.Reward = RewardOutcome }},
		{"without keyword coverage", func(o *Options) { o.Transition.Keywords = false }},
		{"tau 0", tau(0)}, {"tau 0.5", tau(0.5)}, {"tau 0.75", tau(0.75)}, {"tau 0.9", tau(0.9)},
		{"untrained", nil},
	})
	const claim = "a reward of the change of memory teaches more than questions alone; keywords and a threshold help"
	return Experiment{"deltamem", claim, arms}, err
}

// MemBuilder tries rewards of each session and of several sessions, and weights by the kind of memory that was found
// (3.4).
func MemBuilder(ctx context.Context, o ExperimentOptions) (Experiment, error) {
	every := func(n int) func(*Options) {
		return func(o *Options) { o.Reward, o.Every = RewardDense, n }
	}
	weighed := func(by learning.Weighing) func(*Options) {
		return func(o *Options) {
			o.Reward, o.Attribution, o.Update.Surrogate.Weighing = RewardDense, 4, by
		}
	}
	arms, err := o.trained(ctx, []training{
		{"every session", every(1)}, {"every 2nd", every(2)}, {"every 4th", every(4)}, {"every 8th", every(8)},
		{"weight 4 as printed", weighed(learning.WeighUnclipped)}, {"weight 4 on both terms", weighed(learning.WeighBoth)},
		{"no free length", func(o *Options) { o.Reward, o.Dense.Difference = RewardDense, 0 }},
		{"untrained", nil},
	})
	return Experiment{"membuilder", "rewards of each session teach more than sparse ones, and so does weighing what answered", arms}, err
}

// SaliMory tries the parts of its reward, and contrast pairs (3.3, 3.4).
func SaliMory(ctx context.Context, o ExperimentOptions) (Experiment, error) {
	parts := func(n int, contrast bool) func(*Options) {
		return func(o *Options) { o.Reward, o.Parts, o.Contrast = RewardStages, n, contrast }
	}
	arms, err := o.trained(ctx, []training{
		{"R1", parts(1, false)}, {"R1 + R2", parts(2, false)}, {"R1 + R2 + R3", parts(3, false)}, {"with contrast", parts(3, true)},
		{"untrained", nil},
	})
	return Experiment{"salimory", "each stage's own reward, and contrast pairs, lose less on the way from memory to answer", arms}, err
}
