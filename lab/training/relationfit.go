package training

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// matrix has the examples as rows of numbers. All pairs with a statement share the statement's row.
type matrix struct {
	blocks  [relation.Blocks]relation.Block
	first   [relation.Blocks]int // column of each block's first feature
	dense   relation.Numbers
	columns int // number of sparse features; the dense ones and the bias come after
	sets    []set
}

// set is a later statement with its stored statements.
type set struct {
	later  []cell
	pairs  []pairRow
	target int // index of the related pair, or -1
	label  int // output
}

type pairRow struct {
	pair  []cell
	dense []float32
}

type cell struct {
	column int32
	value  float32
}

func newMatrix(l *relation.Lexicon, sets []corpus.Among, o RelationOptions) *matrix {
	m := &matrix{sets: make([]set, len(sets))}
	readings := map[relation.Statement]relation.Reading{}
	read := func(s relation.Statement) relation.Reading {
		r, ok := readings[s]
		if !ok {
			r = l.Read(s)
			readings[s] = r
		}
		return r
	}
	for _, a := range sets { // before the work is shared out: one goroutine writes a map
		read(a.Later)
		for _, s := range a.Stored {
			read(s)
		}
	}
	inputs, alone := make([][]relation.Inputs, len(sets)), make([][relation.LaterBlocks][]relation.Feature, len(sets))
	onAll(len(sets), func(i int) {
		later := readings[sets[i].Later]
		alone[i] = later.Later()
		for _, s := range sets[i].Stored {
			inputs[i] = append(inputs[i], l.Pair(later, readings[s]))
		}
	})
	// features of pairs are chosen on related pairs, features of single statements on each statement once
	var together []relation.Inputs
	for i, a := range sets {
		if a.Looks >= 0 {
			in := inputs[i][a.Looks]
			copy(in.Sparse[:], alone[i][:])
			together = append(together, in)
		}
	}
	for b := range m.blocks {
		m.blocks[b] = selectFeatures(together, b, o)
		m.first[b] = m.columns
		m.columns += len(m.blocks[b].Keys)
	}
	m.dense = standardise(together, l.Dense(), o)
	onAll(len(sets), func(i int) {
		a := sets[i]
		s := set{target: -1}
		if a.Label != relation.Unrelated {
			s.target, s.label = a.Looks, int(a.Label)-1
		}
		for b := range relation.LaterBlocks {
			s.later = append(s.later, m.cells(b, alone[i][b])...)
		}
		for _, in := range inputs[i] {
			var p pairRow
			for b := relation.LaterBlocks; b < relation.Blocks; b++ {
				p.pair = append(p.pair, m.cells(b, in.Sparse[b])...)
			}
			p.dense = make([]float32, len(in.Dense))
			for j, x := range in.Dense {
				p.dense[j] = (x - m.dense.Mean[j]) * m.dense.Scale[j]
			}
			s.pairs = append(s.pairs, p)
		}
		inputs[i], alone[i] = nil, [relation.LaterBlocks][]relation.Feature{}
		m.sets[i] = s
	})
	return m
}

// onAll runs n pieces of work on all processors.
func onAll(n int, do func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// selectFeatures keeps the features that enough examples have, with their inverse document frequencies.
func selectFeatures(examples []relation.Inputs, b int, o RelationOptions) relation.Block {
	holders := map[uint32]int{}
	for _, e := range examples {
		for _, f := range e.Sparse[b] {
			holders[f.Key]++
		}
	}
	out := relation.Block{Length: float32(o.Lengths[b])}
	for key, n := range holders {
		if n >= o.Holders {
			out.Keys = append(out.Keys, key)
		}
	}
	slices.Sort(out.Keys)
	for _, key := range out.Keys {
		idf := 1 + math.Log(float64(1+len(examples))/float64(1+holders[key]))
		out.Rarities = append(out.Rarities, uint8(min(255, max(1, math.Round(idf/relation.RarityStep)))))
	}
	return out
}

func standardise(examples []relation.Inputs, n int, o RelationOptions) relation.Numbers {
	d := relation.Numbers{Mean: make([]float32, n), Scale: make([]float32, n)}
	for j := range n {
		sum, squares := 0.0, 0.0
		for _, e := range examples {
			sum += float64(e.Dense[j])
		}
		mean := sum / float64(len(examples))
		for _, e := range examples {
			squares += (float64(e.Dense[j]) - mean) * (float64(e.Dense[j]) - mean)
		}
		d.Mean[j] = float32(mean)
		if squares > 0 {
			d.Scale[j] = float32(o.Numbers / math.Sqrt(squares/float64(len(examples))))
		}
	}
	return d
}

func (m *matrix) cells(b int, features []relation.Feature) []cell {
	var out []cell
	squares := 0.0
	for _, f := range features {
		i, ok := slices.BinarySearch(m.blocks[b].Keys, f.Key)
		if !ok {
			continue
		}
		v := f.Count * float32(m.blocks[b].Rarities[i]) * relation.RarityStep
		squares += float64(v) * float64(v)
		out = append(out, cell{int32(m.first[b] + i), v})
	}
	for i := range out {
		out[i].value *= m.blocks[b].Length / float32(math.Sqrt(squares))
	}
	return out
}

// parts is the number of partial sums of the gradient. It is fixed, so that the sum does not depend on the number of
// processors.
const parts = 8

// fit learns the weights.
func (m *matrix) fit(o RelationOptions) *relation.Weights {
	columns := m.columns + len(m.dense.Mean) + 1
	n := columns * relation.Outputs
	gradients := make([][]float64, parts)
	for p := range gradients {
		gradients[p] = make([]float64, n)
	}
	var losses [parts]float64
	var at []float64 // the point of the current losses and gradients
	evaluate := func(w []float64) {
		if slices.Equal(at, w) {
			return
		}
		at = append(at[:0], w...)
		onAll(parts, func(p int) {
			clear(gradients[p])
			losses[p] = 0
			for i := p; i < len(m.sets); i += parts {
				losses[p] += m.learn(w, gradients[p], &m.sets[i], o.Cost)
			}
		})
	}
	problem := optimize.Problem{
		Func: func(w []float64) float64 {
			evaluate(w)
			loss := 0.5 * floats.Dot(w, w)
			for _, l := range losses {
				loss += l
			}
			return loss
		},
		Grad: func(g, w []float64) {
			evaluate(w)
			copy(g, w)
			for p := range gradients {
				floats.Add(g, gradients[p])
			}
		},
	}
	settings := &optimize.Settings{MajorIterations: o.Rounds, GradientThreshold: 1e-2}
	result, err := optimize.Minimize(problem, make([]float64, n), settings, &optimize.LBFGS{})
	if result == nil {
		panic(err) // the problem is convex and begins at a finite point
	}
	return m.weights(result.X)
}

// learn adds the loss of a statement, and its gradient to g.
func (m *matrix) learn(w, g []float64, s *set, cost float64) float64 {
	var base [relation.Outputs]float64
	add := func(z *[relation.Outputs]float64, cells []cell) {
		for _, c := range cells {
			at := int(c.column) * relation.Outputs
			for l, x := range w[at : at+relation.Outputs] {
				z[l] += x * float64(c.value)
			}
		}
	}
	add(&base, s.later)
	bias := (m.columns + len(m.dense.Mean)) * relation.Outputs
	for l := range base {
		base[l] += w[bias+l]
	}
	z := make([][relation.Outputs]float64, len(s.pairs))
	most := 0.0
	for i := range s.pairs {
		p := &s.pairs[i]
		z[i] = base
		add(&z[i], p.pair)
		at := m.columns * relation.Outputs
		for _, x := range p.dense {
			for l, v := range w[at : at+relation.Outputs] {
				z[i][l] += v * float64(x)
			}
			at += relation.Outputs
		}
		for _, x := range z[i] {
			most = max(most, x)
		}
	}
	sum := math.Exp(-most)
	for i := range z {
		for _, x := range z[i] {
			sum += math.Exp(x - most)
		}
	}
	loss := most + math.Log(sum)
	if s.target >= 0 {
		loss -= z[s.target][s.label]
	}
	var total [relation.Outputs]float64
	for i := range s.pairs {
		p := &s.pairs[i]
		var d [relation.Outputs]float64
		for l, x := range z[i] {
			d[l] = math.Exp(x-most) / sum
			if i == s.target && l == s.label {
				d[l]--
			}
			d[l] *= cost
			total[l] += d[l]
		}
		for _, c := range p.pair {
			at := int(c.column) * relation.Outputs
			for l := range d {
				g[at+l] += d[l] * float64(c.value)
			}
		}
		at := m.columns * relation.Outputs
		for _, x := range p.dense {
			for l := range d {
				g[at+l] += d[l] * float64(x)
			}
			at += relation.Outputs
		}
	}
	for _, c := range s.later {
		at := int(c.column) * relation.Outputs
		for l := range total {
			g[at+l] += total[l] * float64(c.value)
		}
	}
	for l := range total {
		g[bias+l] += total[l]
	}
	return loss * cost
}

// weights returns the learned numbers in the model's format.
func (m *matrix) weights(learned []float64) *relation.Weights {
	w := &relation.Weights{Sparse: m.blocks, Dense: m.dense}
	for b := range w.Sparse {
		block := &w.Sparse[b]
		block.Weights = make([][relation.Outputs]int8, len(block.Keys))
		of := func(i, l int) float64 { return learned[(m.first[b]+i)*relation.Outputs+l] }
		for l := range relation.Outputs {
			most := 0.0
			for i := range block.Keys {
				most = max(most, math.Abs(of(i, l)))
			}
			block.Scale[l] = float32(most / math.MaxInt8)
			for i := range block.Keys {
				if most > 0 {
					block.Weights[i][l] = int8(math.Round(of(i, l) / most * math.MaxInt8))
				}
			}
		}
	}
	w.Dense.Weights = make([][relation.Outputs]float32, len(w.Dense.Mean))
	for l := range relation.Outputs {
		for j := range w.Dense.Weights {
			w.Dense.Weights[j][l] = float32(learned[(m.columns+j)*relation.Outputs+l])
		}
		w.Bias[l] = float32(learned[(m.columns+len(w.Dense.Mean))*relation.Outputs+l])
	}
	return w
}
