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

// Estimate is a mean over the seeds that measured something, with the half of its interval, 95 % by Student's t.
type Estimate struct {
	Mean float64 `json:"mean"`
	// Half is 0 where there is no interval, as of one seed.
	Half  float64 `json:"half"`
	Seeds int     `json:"seeds"`
}

// estimate is that of values, at least one.
func estimate(values []float64) Estimate {
	out, n := Estimate{Mean: stat.Mean(values, nil), Seeds: len(values)}, float64(len(values))
	if len(values) > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		out.Half = t * stat.StdDev(values, nil) / math.Sqrt(n)
	}
	return out
}

// Measures are estimates by what was measured.
type Measures map[string]Estimate

// Experiment is a paper's claim with what was found.
type Experiment struct {
	// Paper names it, Claim is what it says in our words.
	Paper string `json:"paper"`
	Claim string `json:"claim"`
	Arms  []Arm  `json:"arms"`
}

// Arm is one way of doing it. Measures have the estimates over Seeds by name, and, where they are of people, by the words these use:
// "update_hits/train" are words that were learned from, "update_hits/heldout" others. Beside has the differences, seed by seed, to the arms
// of the same start that stand before, by their names.
type Arm struct {
	Name string `json:"name"`
	// Start is what trainings begin from: weak or shipped; empty where nothing is trained.
	Start    string              `json:"start,omitempty"`
	Seeds    int                 `json:"seeds"`
	Measures Measures            `json:"measures"`
	Beside   map[string]Measures `json:"beside,omitempty"`
	// Curve are the mean rewards of the people learned from, in order, Steps how many sessions were formed until then.
	Curve []Estimate `json:"curve,omitempty"`
	Steps []float64  `json:"steps,omitempty"`
}

// Starts of trainings.
const (
	StartWeak    = "weak"
	StartShipped = "shipped"
)

// ExperimentOptions are how experiments are made.
type ExperimentOptions struct {
	// Seeds is how many paired seeds each arm is tried with, Held how many other people each is measured on, of each kind of words.
	Seeds, Held int
	// Starts are what trainings begin from.
	Starts []string
	// Continuations is how many ways a life goes on from a state to know what a draw was worth.
	Continuations int
	// Long is how many times as many sessions as others the longest lives of a curriculum have: 1, 2, 4 and so on.
	Long int
	// Options are what all trainings have in common.
	Options Options
	// Total is told how many tries there are, Progress of each that is over; nil for nobody.
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

// Quick returns settings that take some minutes, and whose intervals are wide.
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

func (o ExperimentOptions) told(total int) func() {
	if o.Total != nil {
		o.Total(total)
	}
	if o.Progress != nil {
		return o.Progress
	}
	return func() {}
}

// trial is what one try of an arm came to.
type trial struct {
	measures map[string]float64
	record   Record
}

// training is an arm that trains; without a change it is the start, untrained.
type training struct {
	name   string
	change func(*Options)
}

// trained tries trainings with all starts and seeds, a seed a core.
func (o ExperimentOptions) trained(ctx context.Context, arms []training) ([]Arm, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	trials := make([]trial, len(o.Starts)*len(arms)*o.Seeds)
	done := o.told(len(trials))
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

// reports has the estimates of arms of one start; trials are those of the first arm, one a seed, then those of the second and so on.
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

// differences has the estimates of tries less those of others with the same seeds, of what both measured; without others, of the tries.
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

// heldSeeds are where the seeds of people begin that arms are measured on.
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
		people, err := o.held(seed, split)
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

// held are the people that a seed is measured on.
func (o ExperimentOptions) held(seed int, split synthesis.Split) ([]synthesis.Person, error) {
	return synthesis.Generate(synthesis.Options{
		Seed: heldSeeds + uint64(seed), Persons: o.Held, Sessions: o.Options.Sessions, Split: split, //nolint:gosec // not negative
	})
}

// DeltaMem tries its reward of the state's transition (arXiv 2604.01560, 3.3) and changes of it.
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

// MemBuilder tries rewards of each session and of several, and weights of what answered (3.4).
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
