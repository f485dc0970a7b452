package link

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Example is a pair with its features, and whether the one changes the other.
type Example struct {
	X []float64
	// Y is how right the pair is: 1 for a change, 0 for none.
	Y float64
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
	return Options{Trees: 250, Depth: 6, Rate: 0.08, MinLeaf: 3, Ridge: 2, Bins: 24}
}

// Train grows trees on the logistic loss by Newton steps (Friedman's gradient boosting with second-order leaves).
func Train(features []string, examples []Example, o Options) *Model {
	g := grower{options: o, examples: examples, cuts: cutsOf(examples, len(features), o.Bins)}
	g.bins = binsOf(examples, g.cuts)
	positive, right := 0, 0.0
	for _, e := range examples {
		right += e.Y
		if e.Y > 0 {
			positive++
		}
	}
	m := &Model{Features: features, Threshold: 0.5, Bias: math.Log((right + 1) / (float64(len(examples)) - right + 1))}
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
			g.gradient[i], g.hessian[i] = p-e.Y, p*(1-p)
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
		total += e.Y*math.Log1p(math.Exp(-sums[i])) + (1-e.Y)*math.Log1p(math.Exp(sums[i]))
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
			cuts[f] = append(cuts[f], short((values[i]+values[i+1])/2))
		}
	}
	return cuts
}

// binsOf returns for each feature into which of its bins every example falls, so that no tree looks for it again.
func binsOf(examples []Example, cuts [][]float64) [][]uint16 {
	bins := make([][]uint16, len(cuts))
	for f, at := range cuts {
		bins[f] = make([]uint16, len(examples))
		for i, e := range examples {
			bin, _ := slices.BinarySearchFunc(at, e.X[f], cmp.Compare[float64])
			bins[f][i] = uint16(bin)
		}
	}
	return bins
}

// short keeps five digits of a number, so that files stay small.
func short(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		return x // it cannot fail on what it wrote itself
	}
	return y
}

type grower struct {
	options  Options
	examples []Example
	cuts     [][]float64
	// bins are the examples' bins by feature.
	bins              [][]uint16
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
		g.tree[place] = Node{Value: short(-g.options.Rate * sum / (weight + g.options.Ridge))}
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
		bins := g.bins[f]
		for _, i := range set {
			bin := bins[i]
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
