package bench

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // unsorted on purpose
	}
	for name, c := range map[string]struct {
		values []float64
		p      float64
		want   float64
	}{
		"half of a hundred":     {hundred, 0.5, 50},
		"nearly all":            {hundred, 0.99, 99},
		"all":                   {hundred, 1, 100},
		"none":                  {hundred, 0, 1},
		"one value":             {[]float64{7}, 0.99, 7},
		"p99 of few is largest": {[]float64{3, 1, 2}, 0.99, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := percentile(c.values, c.p); got != c.want {
				t.Errorf("percentile(%v) = %v, want %v", c.p, got, c.want)
			}
		})
	}
	if got := percentile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("percentile of nothing = %v, want NaN", got)
	}
}

func TestPercentileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 50).Draw(t, "values")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		before := slices.Clone(values)
		got := percentile(values, p)
		if !slices.Equal(values, before) {
			t.Fatal("the values were reordered")
		}
		if !slices.Contains(values, got) {
			t.Fatalf("%v is not one of the values", got)
		}
		below := 0
		for _, v := range values {
			if v <= got {
				below++
			}
		}
		if float64(below) < p*float64(len(values)) {
			t.Fatalf("only %d of %d values do not exceed the percentile %v", below, len(values), p)
		}
	})
}

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"odd":  {[]float64{9, 1, 5}, 5},
		"even": {[]float64{4, 1, 2, 9}, 3},
		"one":  {[]float64{2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := median(c.values); got != c.want {
				t.Errorf("median = %v, want %v", got, c.want)
			}
		})
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v, want NaN", got)
	}
}

func TestRatioOfRoundsIgnoresASlowRound(t *testing.T) {
	ours := []float64{2, 40, 2.2}
	baseline := []float64{1, 20, 1} // the machine was busy in the second round
	if got := ratioOfRounds(ours, baseline); got != 2 {
		t.Errorf("ratio = %v, want 2", got)
	}
	if got := ratioOfRounds([]float64{30, 1}, []float64{10}); got != 3 {
		t.Errorf("ratio with a missing baseline = %v, want 3: only whole rounds count", got)
	}
}
