package ranking_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// objective is the function of the gradient.
func objective(t *testing.T, w ranking.Weights, tr ranking.Trace, advantages []float64, temperature float64) float64 {
	t.Helper()
	scores, err := w.Scores(tr.Query, tr.Candidates)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, logarithm := range logProbabilities(scores, tr.Shown, temperature) {
		sum += advantages[i] * logarithm
	}
	return sum
}

// slope is the derivative by one parameter. It uses central differences of two widths, so that the leading errors
// cancel. The widths are powers of two, and the parameters lie on a grid, so that single precision holds every point
// exactly.
func slope(parameter *float32, f func() float64) float64 {
	at := *parameter
	central := func(h float32) float64 {
		*parameter = at + h
		above := f()
		*parameter = at - h
		below := f()
		*parameter = at
		return (above - below) / (2 * float64(h))
	}
	return (4*central(0x1p-9) - central(0x1p-8)) / 3
}

func TestGradientIsExact(t *testing.T) {
	for _, tt := range []struct {
		features, width, chosen int
		temperature             float64
		maps                    bool
	}{
		{6, 0, 3, 0.5, false}, {6, 4, 3, 0.5, false}, {6, 4, 3, 0.5, true}, {3, 5, 8, 1, true}, {3, 5, 1, 2, true},
		{0, 6, 4, 0.7, true},
		{20, 32, 5, 0.5, true},
	} {
		t.Run(fmt.Sprintf("%d features, width %d, %d of 8, maps %t", tt.features, tt.width, tt.chosen, tt.maps),
			func(t *testing.T) {
				random := source(3)
				tr := trace(random, 8, tt.features, tt.width, tt.chosen)
				cells := tt.width * tt.width
				w := ranking.Weights{W: grid(random, tt.features), Aq: make([]float32, cells), Am: make([]float32, cells)}
				if tt.maps {
					w.Aq, w.Am = scaled(grid(random, cells), 4), scaled(grid(random, cells), 4)
				}
				advantages := make([]float64, tt.chosen)
				for i := range advantages {
					advantages[i] = []float64{0.5, -1.5, 0}[random.IntN(3)] + float64(i%2)
				}
				g, err := w.Gradient(tr, advantages, tt.temperature)
				if err != nil {
					t.Fatal(err)
				}
				for name, part := range map[string]struct {
					parameters []float32
					gradient   []float64
				}{"W": {w.W, g.W}, "Aq": {w.Aq, g.Aq}, "Am": {w.Am, g.Am}} {
					if len(part.gradient) != len(part.parameters) {
						t.Fatalf("%s has %d derivatives of %d parameters", name, len(part.gradient), len(part.parameters))
					}
					for i := range part.parameters {
						want := slope(&part.parameters[i], func() float64 { return objective(t, w, tr, advantages, tt.temperature) })
						if math.Abs(part.gradient[i]-want) > 1e-7*(1+math.Abs(want)) {
							t.Errorf("by %s[%d]: %.12g, differences give %.12g", name, i, part.gradient[i], want)
						}
					}
				}
			})
	}
}

func TestGradientOfCandidatesWithoutVectors(t *testing.T) {
	random := source(4)
	tr := trace(random, 6, 3, 4, 3)
	tr.Candidates[tr.Shown[0]].Projected = nil
	w := ranking.Weights{W: grid(random, 3), Aq: grid(random, 16), Am: grid(random, 16)}
	advantages := []float64{1, -1, 0.5}
	g, err := w.Gradient(tr, advantages, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Am {
		want := slope(&w.Am[i], func() float64 { return objective(t, w, tr, advantages, 0.5) })
		if math.Abs(g.Am[i]-want) > 1e-7*(1+math.Abs(want)) {
			t.Errorf("by Am[%d]: %.12g, differences give %.12g", i, g.Am[i], want)
		}
	}
}

// The candidates after a far better one are compared among themselves.
func TestGradientOfFarScores(t *testing.T) {
	tr := ranking.Trace{RecallID: "r", Shown: []int{0, 1, 2}, Candidates: []ranking.Candidate{
		{ID: "a", Features: []float32{0}}, {ID: "b", Features: []float32{-5000}}, {ID: "c", Features: []float32{-5001}},
	}}
	g, err := ranking.Weights{W: []float32{1}}.Gradient(tr, []float64{0, 1, 0}, 1)
	if want := 1 / (1 + math.E); err != nil || math.Abs(g.W[0]-want) > 1e-9 {
		t.Errorf("got %v, %v, want %v", g.W, err, want)
	}
}
