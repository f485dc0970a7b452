package link

import (
	"cmp"
	"math"
	"slices"
)

// Example is a pair with its features, and whether the one changes the other.
type Example struct {
	X []float64
	Y bool
}

// Options say how trees are grown.
type Options struct {
	// Trees is how many; Depth how many questions deep; Rate how much each counts.
	Trees int     `json:"trees"`
	Depth int     `json:"depth"`
	Rate  float64 `json:"rate"`
	// MinLeaf is the least weight of examples in a leaf, Ridge what is added to it.
	MinLeaf float64 `json:"min_leaf"`
	Ridge   float64 `json:"ridge"`
	// Bins bounds the questions tried for a feature.
	Bins int `json:"bins"`
}

// DefaultOptions are what the committed model is trained with.
func DefaultOptions() Options {
	return Options{Trees: 150, Depth: 4, Rate: 0.1, MinLeaf: 2, Ridge: 2, Bins: 24}
}

// Train grows trees on the logistic loss by Newton steps (Friedman's gradient boosting with second-order leaves).
func Train(features []string, examples []Example, o Options) *Model {
	g := grower{options: o, examples: examples, cuts: cutsOf(examples, len(features), o.Bins)}
	positive := 0
	for _, e := range examples {
		if e.Y {
			positive++
		}
	}
	m := &Model{Features: features, Threshold: 0.5, Bias: math.Log((float64(positive) + 1) / (float64(len(examples)-positive) + 1))}
	sums := make([]float64, len(examples))
	for i := range sums {
		sums[i] = m.Bias
	}
	g.gradient, g.hessian = make([]float64, len(examples)), make([]float64, len(examples))
	all := make([]int, len(examples))
	for i := range all {
		all[i] = i
	}
	for range o.Trees {
		for i, e := range examples {
			p := sigmoid(sums[i])
			g.gradient[i], g.hessian[i] = p, p*(1-p)
			if e.Y {
				g.gradient[i] = p - 1
			}
		}
		g.tree = nil
		g.grow(slices.Clone(all), 0)
		m.Trees = append(m.Trees, g.tree)
		for i, e := range examples {
			sums[i] += g.tree.value(e.X)
		}
	}
	m.Trained = Trained{Examples: len(examples), Changes: positive, Options: o, Loss: loss(examples, sums)}
	return m
}

func loss(examples []Example, sums []float64) float64 {
	total := 0.0
	for i, e := range examples {
		s := sums[i]
		if e.Y {
			s = -s
		}
		total += math.Log1p(math.Exp(s))
	}
	return total / float64(max(len(examples), 1))
}

// cutsOf returns at most bins places to cut each feature at.
func cutsOf(examples []Example, features, bins int) [][]float64 {
	cuts := make([][]float64, features)
	for f := range cuts {
		values := make([]float64, len(examples))
		for i, e := range examples {
			values[i] = e.X[f]
		}
		slices.Sort(values)
		values = slices.Compact(values)
		step := max(len(values)/bins, 1)
		for i := step - 1; i+1 < len(values); i += step {
			cuts[f] = append(cuts[f], (values[i]+values[i+1])/2)
		}
	}
	return cuts
}

type grower struct {
	options           Options
	examples          []Example
	cuts              [][]float64
	gradient, hessian []float64
	tree              Tree
}

// grow adds the node for a set of examples and returns its place.
func (g *grower) grow(set []int, depth int) int {
	place := len(g.tree)
	g.tree = append(g.tree, Node{})
	sum, weight := g.totals(set)
	feature, at, gain := -1, 0.0, 0.0
	if depth < g.options.Depth {
		feature, at, gain = g.best(set, sum, weight)
	}
	if feature < 0 || gain <= 1e-9 {
		g.tree[place] = Node{Value: -g.options.Rate * sum / (weight + g.options.Ridge)}
		return place
	}
	var low, high []int
	for _, i := range set {
		if g.examples[i].X[feature] <= at {
			low = append(low, i)
		} else {
			high = append(high, i)
		}
	}
	left := g.grow(low, depth+1)
	right := g.grow(high, depth+1)
	g.tree[place] = Node{Feature: feature, At: at, Left: left, Right: right}
	return place
}

func (g *grower) totals(set []int) (sum, weight float64) {
	for _, i := range set {
		sum += g.gradient[i]
		weight += g.hessian[i]
	}
	return sum, weight
}

// best returns the question that gains most; on a tie the first.
func (g *grower) best(set []int, sum, weight float64) (feature int, at, gain float64) {
	feature = -1
	whole := g.score(sum, weight)
	for f, cuts := range g.cuts {
		sums, weights := make([]float64, len(cuts)+1), make([]float64, len(cuts)+1)
		for _, i := range set {
			bin, _ := slices.BinarySearchFunc(cuts, g.examples[i].X[f], cmp.Compare[float64])
			sums[bin] += g.gradient[i]
			weights[bin] += g.hessian[i]
		}
		low, lowWeight := 0.0, 0.0
		for c := range cuts {
			low, lowWeight = low+sums[c], lowWeight+weights[c]
			if lowWeight < g.options.MinLeaf || weight-lowWeight < g.options.MinLeaf {
				continue
			}
			if won := g.score(low, lowWeight) + g.score(sum-low, weight-lowWeight) - whole; won > gain {
				feature, at, gain = f, cuts[c], won
			}
		}
	}
	return feature, at, gain
}

func (g *grower) score(sum, weight float64) float64 { return sum * sum / (weight + g.options.Ridge) }
