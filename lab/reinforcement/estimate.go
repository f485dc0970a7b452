package reinforcement

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

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

// Arm is one variant of an experiment. Measures have the estimates over the seeds by name, with the words of the
// people: "update_hits/train" for training words, "update_hits/heldout" for other words. Beside has the differences to
// the earlier arms, seed by seed, by the names of the arms.
type Arm struct {
	Name     string              `json:"name"`
	Measures Measures            `json:"measures"`
	Beside   map[string]Measures `json:"beside,omitempty"`
}

// CeilingOptions are the options of Ceilings.
type CeilingOptions struct {
	// Seeds is the number of paired seeds of each arm. Held is the number of people for the measurement, of each kind
	// of words. Sessions is the number of sessions of each.
	Seeds, Held, Sessions int
	// Progress gets each finished try, of the number of all. It may be nil.
	Progress func(total int)
}

// CeilingDefaults returns the options of the recorded results.
func CeilingDefaults() CeilingOptions { return CeilingOptions{Seeds: 10, Held: 4, Sessions: 6} }

// Validate reports a setting that is out of range.
func (o CeilingOptions) Validate() error {
	for field, value := range map[string]int{"seeds": o.Seeds, "held": o.Held, "sessions": o.Sessions} {
		if value < 1 || value > 1000 {
			return fault.Terminal(field, "is %d, want 1 to 1000", value)
		}
	}
	return nil
}

// heldSeeds is the first seed of the people for measurement.
const heldSeeds = 50_000

// held returns the people for the measurement of a seed.
func (o CeilingOptions) held(seed int, split synthesis.Split) ([]synthesis.Person, error) {
	return synthesis.Generate(synthesis.Options{
		Seed: heldSeeds + uint64(seed), Persons: o.Held, Sessions: o.Sessions, Split: split, //nolint:gosec // not negative
	})
}

// reports returns the estimates of arms. The trials are in order of arms, one trial a seed: measures by name.
func reports(names []string, trials []map[string]float64) []Arm {
	seeds := len(trials) / len(names)
	out := make([]Arm, len(names))
	for a, name := range names {
		of := trials[a*seeds:][:seeds]
		out[a] = Arm{Name: name, Measures: differences(of, nil), Beside: map[string]Measures{}}
		for b, other := range names[:a] {
			out[a].Beside[other] = differences(of, trials[b*seeds:][:seeds])
		}
	}
	return out
}

// differences returns the estimates of paired differences between tries and others of the same seeds, for measures in
// both. Without others it returns the estimates of the tries.
func differences(of, others []map[string]float64) Measures {
	values := map[string][]float64{}
	for i, t := range of {
		for measure, v := range t {
			if others == nil {
				values[measure] = append(values[measure], v)
			} else if other, both := others[i][measure]; both {
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
