package training

import (
	"context"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Estimate is a mean over seeds with the half of its interval, 95 % by Student's t.
type Estimate struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half"`
}

// estimate is that of values; of fewer than two there is no interval, and Half is 0.
func estimate(values []float64) Estimate {
	n := float64(len(values))
	if len(values) < 2 {
		return Estimate{Mean: stat.Mean(values, nil)}
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return Estimate{stat.Mean(values, nil), t * stat.StdDev(values, nil) / math.Sqrt(n)}
}

// ArmReport is what an arm of an experiment comes to. Measures have the estimates by name and words: "update_hits/train" and the like;
// Beside has the differences to the first arm of the same seeds.
type ArmReport struct {
	Name     string              `json:"name"`
	Seeds    int                 `json:"seeds"`
	Measures map[string]Estimate `json:"measures"`
	Beside   map[string]Estimate `json:"beside_first,omitempty"`
}

// ExperimentOptions are how an experiment is made.
type ExperimentOptions struct {
	// Seeds is how many paired seeds each arm is trained with, Held how many other people each is measured on, of each kind of words.
	Seeds, Held int
	// Policy is what all arms have in common.
	Policy PolicyOptions
	// Progress is told of each training; nil for nobody.
	Progress io.Writer
}

// ExperimentDefaults returns ten paired seeds of small trainings from a weak start.
func ExperimentDefaults() ExperimentOptions {
	o := ExperimentOptions{Seeds: 10, Held: 6, Policy: PolicyDefaults()}
	o.Policy.Persons, o.Policy.Sessions, o.Policy.Weak = 8, 8, true
	return o
}

// Validate reports a setting that is out of range.
func (o ExperimentOptions) Validate() error {
	if o.Seeds < 1 || o.Seeds > 1000 {
		return fault.Terminal("seeds", "are %d, want 1 to 1000", o.Seeds)
	}
	if o.Held < 1 || o.Held > 1000 {
		return fault.Terminal("held", "are %d, want 1 to 1000", o.Held)
	}
	return o.Policy.Validate()
}

// arm is a way of training.
type arm struct {
	name  string
	apply func(*PolicyOptions)
}

// deltaMemArms are those of DeltaMem's claims: the first is the paper's reward, the last what training starts from.
func deltaMemArms() []arm {
	return []arm{
		{"transition", func(*PolicyOptions) {}},
		{"without keyword coverage", func(o *PolicyOptions) { o.Reward.Keywords = false }},
		{"tau 0", func(o *PolicyOptions) { o.Reward.Tau = 0 }},
		{"tau 0.75", func(o *PolicyOptions) { o.Reward.Tau = 0.75 }},
		{"start", nil},
	}
}

// heldSeeds are where the seeds of people begin that arms are measured on.
const heldSeeds = 50_000

// DeltaMem trains by the reward of the state's transition and by changes of it, each with the same seeds, and measures the policies on
// other people, in words that were learned from and in others.
func DeltaMem(ctx context.Context, o ExperimentOptions) ([]ArmReport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var out []ArmReport
	values := map[string]map[string][]float64{} // by arm and measure
	for _, a := range deltaMemArms() {
		values[a.name] = map[string][]float64{}
		for seed := range o.Seeds {
			p := o.Policy
			p.Seed, p.Progress = uint64(seed)+1, nil
			policy, record := StartPolicy(p), PolicyRecord{}
			if a.apply != nil {
				a.apply(&p)
				var err error
				if policy, record, err = Policy(ctx, p); err != nil {
					return nil, fmt.Errorf("arm %q, seed %d: %w", a.name, seed+1, err)
				}
				values[a.name]["same_reward"] = append(values[a.name]["same_reward"], record.SameReward)
			}
			if err := measureArm(ctx, policy, o, seed, values[a.name]); err != nil {
				return nil, err
			}
			if o.Progress != nil {
				fmt.Fprintf(o.Progress, "\r%-30s seed %d of %d ", a.name, seed+1, o.Seeds)
			}
		}
		r := ArmReport{Name: a.name, Seeds: o.Seeds, Measures: map[string]Estimate{}}
		for name, list := range values[a.name] {
			r.Measures[name] = estimate(list)
		}
		if len(out) > 0 {
			r.Beside = map[string]Estimate{}
			for name, list := range values[a.name] {
				first := values[out[0].Name][name]
				if len(first) != len(list) {
					continue
				}
				differences := make([]float64, len(list))
				for i := range list {
					differences[i] = list[i] - first[i]
				}
				r.Beside[name] = estimate(differences)
			}
		}
		out = append(out, r)
	}
	if o.Progress != nil {
		fmt.Fprintln(o.Progress)
	}
	return out, nil
}

func measureArm(ctx context.Context, policy decision.Chooser, o ExperimentOptions, seed int, into map[string][]float64) error {
	for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
		people, err := synthesis.Generate(synthesis.Options{
			Seed: heldSeeds + uint64(seed), Persons: o.Held, Sessions: o.Policy.Sessions, Split: split,
		})
		if err != nil {
			return err
		}
		m, err := MeasurePolicy(ctx, policy, people)
		if err != nil {
			return err
		}
		for name, v := range shares(m) {
			key := name + "/" + string(split)
			into[key] = append(into[key], v)
		}
	}
	return nil
}

func shares(m formation.Measures) map[string]float64 {
	return map[string]float64{
		"update_hits": m.UpdateHits, "wrong_updates": m.WrongUpdates, "kept_evidence": m.KeptEvidence, "containment": m.Containment,
		"searches_per_memory": m.SearchesPerMemory,
	}
}
