package score

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
)

const (
	// resamples is the number of draws of a bootstrap. The seed is fixed, so the same figures give the same interval.
	resamples = 2000
	drawSeed  = 20240229
)

// Interval is a 95 % confidence interval, written as [low, high].
type Interval struct{ Low, High float64 }

// MarshalJSON implements json.Marshaler.
func (i Interval) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{i.Low, i.High}) }

// Unit is one draw: a question, or all questions of a conversation.
type Unit struct {
	// Sum is the sum of N figures.
	Sum float64
	N   int
}

// Bootstrap is the 95 % percentile interval of the mean figure over units drawn with replacement. The draws are
// always the same. The interval is zero for no figures.
func Bootstrap(units []Unit) Interval {
	units = slices.DeleteFunc(slices.Clone(units), func(u Unit) bool { return u.N == 0 })
	if len(units) == 0 {
		return Interval{}
	}
	draw := rand.New(rand.NewPCG(drawSeed, uint64(len(units)))) //nolint:gosec // repeatable on purpose
	means := make([]float64, resamples)
	for i := range means {
		var drawn Unit
		for range units {
			u := units[draw.IntN(len(units))]
			drawn.Sum += u.Sum
			drawn.N += u.N
		}
		means[i] = drawn.Sum / float64(drawn.N)
	}
	slices.Sort(means)
	const tail = resamples / 40 // 2.5 %
	return Interval{Low: means[tail], High: means[resamples-1-tail]}
}

// Mean is the mean figure of the units.
func Mean(units []Unit) float64 {
	var all Unit
	for _, u := range units {
		all.Sum += u.Sum
		all.N += u.N
	}
	if all.N == 0 {
		return 0
	}
	return all.Sum / float64(all.N)
}
