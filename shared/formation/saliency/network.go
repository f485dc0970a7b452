package saliency

import "math"

// Sizes of the network.
const (
	// Units is how many things are counted of the words, Traits how many of the clauses.
	Units  = 16
	Traits = 12
	// WordParts is how many of the Parts have Units numbers for each word, in the order of the words.
	WordParts = 3
	// Near is the number of the most frequent words that have a weight as neighbours.
	Near = 500
)

// Network scores a reading. Every word adds to Units counts, by its weights, its vector, and the words before and
// after it. The counts of a clause make its Traits. The traits of all clauses and the numbers of the turn make the
// score. No trait has a negative weight: small talk around a clause cannot cancel it.
type Network struct {
	// Words have learned weights in addition to their vectors, most frequent first.
	Words []string
	// Own has Units numbers for each of Words, for the word's own effect. Before and After have the effect of the
	// first Near words on their neighbours.
	Own, Before, After []float32
	// Vector has Units numbers for each dimension of the word vectors.
	Vector []float32
	// Capital and Bias have Units numbers.
	Capital, Bias []float32
	// Clause has Units numbers for each trait; ClauseBias a number for each trait, kind of clause and role (user,
	// assistant).
	Clause, ClauseBias []float32
	// Out has a number for each trait, each of the numbers of a turn, and one for none.
	Out []float32
}

// NewNetwork returns a network of zeros for these words and the placeholders.
func NewNetwork(frequent []string) *Network {
	return newNetwork(append([]string{wordUnknown, wordEdge}, frequent...))
}

func newNetwork(words []string) *Network {
	near := min(Near, len(words))
	return &Network{
		Words: words, Own: make([]float32, len(words)*Units), Before: make([]float32, near*Units),
		After: make([]float32, near*Units), Vector: make([]float32, vectors().Dimension()*Units),
		Capital: make([]float32, Units), Bias: make([]float32, Units), Clause: make([]float32, Traits*Units),
		ClauseBias: make([]float32, 2*kinds*Traits), Out: make([]float32, Traits+numbers+1),
	}
}

// Parts returns all weights, to be read and changed. The weights of words come first.
func (n *Network) Parts() [][]float32 {
	return [][]float32{n.Own, n.Before, n.After, n.Vector, n.Capital, n.Bias, n.Clause, n.ClauseBias, n.Out}
}

// squash grows like a root, so that the tenth word adds less than the first.
func squash(x float32) float32 { return float32(math.Sqrt(float64(1+x))) - 1 }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Index finds the places of words.
type Index map[string]int32

// Index makes the index of the network's words.
func (n *Network) Index() Index {
	x := make(Index, len(n.Words))
	for i, w := range n.Words {
		x[w] = int32(i) //nolint:gosec // bounded by the size of the file
	}
	return x
}

// Word is a token by its places: in the network's words, and in the word vectors or -1.
type Word struct {
	Own, Vector int32
	Capital     bool
}

// place returns a token's word. A token without known spelling and vector is the unknown word.
func (x Index) place(t Token) Word {
	w := Word{Own: -1, Vector: t.Vector, Capital: t.Capital}
	if own, ok := x[t.Text]; ok {
		w.Own = own
	} else if t.Vector < 0 {
		w.Own = 0
	}
	return w
}

// Places returns the words of a reading's clauses.
func (x Index) Places(r *Reading) [][]Word {
	total := 0
	for _, c := range r.Clauses {
		total += len(c.Tokens)
	}
	words, out := make([]Word, 0, total), make([][]Word, len(r.Clauses))
	for i, c := range r.Clauses {
		from := len(words)
		for _, t := range c.Tokens {
			words = append(words, x.place(t))
		}
		out[i] = words[from:]
	}
	return out
}

// Forget returns the word without learned weights. Training forgets some words, so that the network does not depend on
// single words.
func (w Word) Forget() Word {
	w.Own = -1
	if w.Vector < 0 {
		w.Own = 0
	}
	return w
}

// edge is the place of wordEdge.
const edge = 1

// Pass is one pass through the network, with the values for a gradient.
type Pass struct {
	// Logit is the score before it is brought between 0 and 1.
	Logit float32
	// hidden has Units numbers for each word of all clauses. counts has them for each clause. made has Traits for each
	// clause, and final for the turn.
	hidden, counts, made []float32
	final                [Traits]float32
	vector               []float32
}

// grown returns n zeros, in the memory of s if it is large enough.
func grown(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n, 2*n)
	}
	s = s[:n]
	clear(s)
	return s
}

// table has the effect of the words' vectors, computed once for a network that does not change any more.
type table []float32

//go:norace
func (n *Network) table() table {
	t := make(table, vectors().Len()*Units)
	vector := make([]float32, vectors().Dimension())
	for i := range vectors().Len() {
		clear(vector)
		vectors().Add(vector, int32(i), 1) //nolint:gosec // as many as rows
		project(t[i*Units:(i+1)*Units], n.Vector, vector)
	}
	return t
}

// project adds a matrix with Units numbers a dimension, times a vector, to z. The conversions here and below forbid
// fusing, which rounds differently per processor.
func project(z, matrix, vector []float32) {
	for d, x := range vector {
		row := matrix[d*Units : (d+1)*Units]
		for k, m := range row {
			z[k] += float32(x * m)
		}
	}
}

// Run scores a reading whose words have been placed, clause after clause.
func (n *Network) Run(p *Pass, r *Reading, words [][]Word) { n.run(p, r, words, nil) }

func (n *Network) run(p *Pass, r *Reading, words [][]Word, t table) {
	total := 0
	for _, c := range words {
		total += len(c)
	}
	p.hidden, p.counts, p.made = grown(p.hidden, total*Units), grown(p.counts, len(words)*Units),
		grown(p.made, len(words)*Traits)
	p.final = [Traits]float32{}
	role, at := int(r.Numbers[byAssistant]), 0
	for i, c := range words {
		counts, made := p.counts[i*Units:(i+1)*Units], p.made[i*Traits:(i+1)*Traits]
		for j, w := range c {
			z := p.hidden[at*Units : (at+1)*Units]
			at++
			n.word(z, c, j, w, t, p)
			for k := range z {
				z[k] = max(0, z[k])
				counts[k] += z[k]
			}
		}
		for k, s := range counts {
			counts[k] = squash(s)
		}
		bias := n.ClauseBias[(role*kinds+r.Clauses[i].Kind)*Traits:]
		for g := range made {
			z := bias[g]
			for k, x := range counts {
				z += float32(x * n.Clause[g*Units+k])
			}
			made[g] = max(0, z)
			p.final[g] += made[g]
		}
	}
	p.Logit = n.Out[Traits+numbers]
	for g, s := range p.final {
		p.final[g] = squash(s)
		p.Logit += float32(p.final[g] * n.Out[g])
	}
	for i, x := range r.Numbers {
		p.Logit += float32(x * n.Out[Traits+i])
	}
}

// word adds up the effect of a word with its neighbours.
func (n *Network) word(z []float32, c []Word, j int, w Word, t table, p *Pass) {
	copy(z, n.Bias)
	if w.Own >= 0 {
		add(z, n.Own[int(w.Own)*Units:])
	}
	if w.Vector >= 0 {
		if t != nil {
			add(z, t[int(w.Vector)*Units:])
		} else {
			p.vector = grown(p.vector, vectors().Dimension())
			vectors().Add(p.vector, w.Vector, 1)
			project(z, n.Vector, p.vector)
		}
	}
	if w.Capital {
		add(z, n.Capital)
	}
	if b := neighbour(c, j-1); b >= 0 {
		add(z, n.Before[int(b)*Units:])
	}
	if a := neighbour(c, j+1); a >= 0 {
		add(z, n.After[int(a)*Units:])
	}
}

// neighbour returns the place of a neighbouring word with a weight, or -1.
func neighbour(c []Word, j int) int32 {
	if j < 0 || j >= len(c) {
		return edge
	}
	if c[j].Own >= Near {
		return -1
	}
	return c[j].Own
}

func add(z, x []float32) {
	for k := range z {
		z[k] += x[k]
	}
}

// Gradient adds the gradient of the score, times a number, to a network of the same shape. It belongs to the pass
// before.
func (n *Network) Gradient(p *Pass, r *Reading, words [][]Word, times float32, to *Network) {
	role, at := int(r.Numbers[byAssistant]), 0
	to.Out[Traits+numbers] += times
	for i, x := range r.Numbers {
		to.Out[Traits+i] += float32(times * x)
	}
	var back [Traits]float32
	for g := range back {
		to.Out[g] += float32(times * p.final[g])
		back[g] = float32(times*n.Out[g]) / (2 * (p.final[g] + 1))
	}
	var counts, z [Units]float32
	for i, c := range words {
		counts = [Units]float32{}
		bias := to.ClauseBias[(role*kinds+r.Clauses[i].Kind)*Traits:]
		for g, m := range p.made[i*Traits : (i+1)*Traits] {
			if m <= 0 {
				continue
			}
			bias[g] += back[g]
			for k := range counts {
				to.Clause[g*Units+k] += float32(back[g] * p.counts[i*Units+k])
				counts[k] += float32(back[g] * n.Clause[g*Units+k])
			}
		}
		for k := range counts {
			counts[k] /= 2 * (p.counts[i*Units+k] + 1)
		}
		for j, w := range c {
			h := p.hidden[at*Units : (at+1)*Units]
			at++
			for k := range z {
				z[k] = 0
				if h[k] > 0 {
					z[k] = counts[k]
				}
			}
			to.wordGradient(z[:], c, j, w, p)
		}
	}
}

// wordGradient adds the share of a word and its neighbours in the gradient.
func (n *Network) wordGradient(z []float32, c []Word, j int, w Word, p *Pass) {
	add(n.Bias, z)
	if w.Own >= 0 {
		add(n.Own[int(w.Own)*Units:(int(w.Own)+1)*Units], z)
	}
	if w.Vector >= 0 {
		p.vector = grown(p.vector, vectors().Dimension())
		vectors().Add(p.vector, w.Vector, 1)
		for d, x := range p.vector {
			row := n.Vector[d*Units : (d+1)*Units]
			for k := range row {
				row[k] += float32(x * z[k])
			}
		}
	}
	if w.Capital {
		add(n.Capital, z)
	}
	if b := neighbour(c, j-1); b >= 0 {
		add(n.Before[int(b)*Units:(int(b)+1)*Units], z)
	}
	if a := neighbour(c, j+1); a >= 0 {
		add(n.After[int(a)*Units:(int(a)+1)*Units], z)
	}
}

// KeepTold sets the weights of traits that are less than nothing to nothing.
func (n *Network) KeepTold() {
	for g, w := range n.Out[:Traits] {
		n.Out[g] = max(w, 0.01) // none may fall silent for good
	}
}
