package training

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
)

// Fixed settings of the training of the network.
const (
	leastTurns = 5   // least number of turns with a word for a weight of the word alone
	batch      = 32  // samples a step
	forgotten  = 0.2 // share of a sample's words that are read by their vectors alone
	lastRate   = 0.4 // share of the first rate in the last epoch; the rates between fall evenly
)

// lesson is a sample in the input form of the network.
type lesson struct {
	reading saliency.Reading
	words   [][]saliency.Word
	label   float64
	weight  float64
}

// lessons reads the samples, chooses the words with a weight, and balances the weights of the two labels.
func lessons(samples []sample, recallWeight float64) ([]lesson, *saliency.Network) {
	out, turns, total := make([]lesson, len(samples)), map[string]int{}, [2]float64{}
	for i, s := range samples {
		l := lesson{reading: saliency.Read(s.turn), weight: s.weight}
		if s.salient {
			l.label = 1
		}
		total[int(l.label)] += s.weight
		seen := map[string]bool{}
		for _, c := range l.reading.Clauses {
			for _, t := range c.Tokens {
				seen[t.Text] = true
			}
		}
		for w := range seen {
			turns[w]++
		}
		out[i] = l
	}
	maps.DeleteFunc(turns, func(_ string, n int) bool { return n < leastTurns })
	words := slices.SortedFunc(maps.Keys(turns), func(a, b string) int {
		return cmp.Or(cmp.Compare(turns[b], turns[a]), cmp.Compare(a, b))
	})
	n := saliency.NewNetwork(words)
	index := n.Index()
	for i := range out {
		l := &out[i]
		l.words = index.Places(&l.reading)
		share := 1 - recallWeight
		if l.label > 0 {
			share = recallWeight
		}
		l.weight *= share / total[int(l.label)] * float64(len(out))
	}
	return out, n
}

// Fit is the record of a network's training.
type Fit struct {
	// Digest is the digest of all training data.
	Digest string `json:"digest"`
	// Loss is the mean weighted logistic loss of the last epoch.
	Loss float64 `json:"loss"`
}

// fitOf returns the digest of samples, each in its written form.
func fitOf(samples []sample, written func(sample) string) Fit {
	h := sha256.New()
	for _, s := range samples {
		h.Write([]byte(written(s)))
	}
	return Fit{Digest: hex.EncodeToString(h.Sum(nil)[:8])}
}

// statement writes a sample that has nothing but its text.
func statement(s sample) string { return fmt.Sprintf("%q %t %g\n", s.turn.Text, s.salient, s.weight) }

// trainNetwork trains a network on samples, chooses its threshold, and fills in the record.
func trainNetwork(
	version string, samples []sample, recallWeight float64, seed uint64, o Descent, r networkRecord,
) (Made, error) {
	ls, n := lessons(samples, recallWeight)
	n, loss := learn(ls, n, seed, o)
	r.fit().Loss = rounded(loss)
	m := &saliency.Model{Header: classifier.Header{Version: version}, Threshold: 0.5}
	m.SetNetwork(n)
	f, err := saliency.NewFilter(m)
	if err != nil {
		return Made{}, err
	}
	if err := r.measure(m, f); err != nil {
		return Made{}, err
	}
	return made(m, &m.Header, r, m.Threshold, "  ")
}

// networkRecord is the record of a network's training.
type networkRecord interface {
	fit() *Fit
	// measure sets the threshold of the model, and fills in the figures.
	measure(*saliency.Model, *saliency.Filter) error
}

func (f *Fit) fit() *Fit { return f }

// readable returns the score of a text, and 0 for a text that the model cannot read, as in the service.
func readable(f *saliency.Filter, role memory.Role, text string) float64 {
	if score, ok := f.Read(memory.Turn{Role: role, Text: text}); ok {
		return score
	}
	return 0
}

// learner moves a network down the gradient of the weighted logistic loss. Each weight has a separate rate (AdaGrad).
type learner struct {
	o        Descent
	r        *rand.Rand
	n        *saliency.Network
	gradient *saliency.Network
	squares  *saliency.Network
	touched  map[int32]bool
	pass     saliency.Pass
}

// learn trains a network. It returns the mean of the weights at the ends of the second half of the epochs, which is
// steadier than the last weights. It also returns the mean loss of the last epoch.
func learn(lessons []lesson, n *saliency.Network, seed uint64, o Descent) (*saliency.Network, float64) {
	same := func() *saliency.Network { return saliency.NewNetwork(n.Words[2:]) }
	l := &learner{o: o, r: rand.New(rand.NewPCG(seed, 7)), n: n, gradient: same(), squares: same(),
		touched: map[int32]bool{}}
	l.start()
	order := make([]int, len(lessons))
	for i := range order {
		order[i] = i
	}
	mean, first, loss := same(), o.Epochs/2, 0.0
	for epoch := range o.Epochs {
		l.r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		loss = l.epoch(lessons, order, o.Rate*(1-(1-lastRate)*float64(epoch)/float64(max(1, o.Epochs-1))))
		if epoch < first {
			continue
		}
		parts := n.Parts()
		for k, part := range mean.Parts() {
			for i := range part {
				part[i] += parts[k][i] / float32(o.Epochs-first)
			}
		}
	}
	return mean, loss
}

// start draws the first weights.
func (l *learner) start() {
	draw := func(part []float32, deviation float64) {
		for i := range part {
			part[i] = float32(l.r.NormFloat64() * deviation)
		}
	}
	draw(l.n.Own, 0.05)
	draw(l.n.Vector, 0.3)
	draw(l.n.Bias, 0.1)
	draw(l.n.Clause, 0.4)
	draw(l.n.Out[:saliency.Traits], 0.5)
	for g, w := range l.n.Out[:saliency.Traits] {
		l.n.Out[g] = float32(math.Abs(float64(w)))
	}
	l.n.Out[len(l.n.Out)-1] = -2
}

// epoch goes through all lessons once and returns their mean loss.
func (l *learner) epoch(lessons []lesson, order []int, rate float64) float64 {
	loss, total := 0.0, 0.0
	for some := range slices.Chunk(order, batch) {
		clear(l.touched)
		for _, i := range some {
			x := &lessons[i]
			words := l.forget(x.words)
			l.n.Run(&l.pass, &x.reading, words)
			p := probability(l.pass.Logit)
			loss -= x.weight * math.Log(1-math.Abs(x.label-p))
			total += x.weight
			l.n.Gradient(&l.pass, &x.reading, words, float32((p-x.label)*x.weight/batch), l.gradient)
		}
		l.step(float32(rate))
	}
	return loss / total
}

// probability returns the probability of a logit. It is coarse, so that the rounding differences of processors do not
// reach the weights.
func probability(logit float32) float64 {
	p := 1 / (1 + math.Exp(-float64(logit)))
	return min(1-1e-6, max(1e-6, math.Round(p*(1<<20))/(1<<20)))
}

// forget reduces some words to their vectors, and notes the places of the others.
func (l *learner) forget(words [][]saliency.Word) [][]saliency.Word {
	out := make([][]saliency.Word, len(words))
	for i, c := range words {
		out[i] = slices.Clone(c)
		for j, w := range c {
			if w.Own > 1 && l.r.Float64() < forgotten {
				out[i][j] = w.Forget()
			}
			if w := out[i][j]; w.Own >= 0 {
				l.touched[w.Own] = true
			}
		}
	}
	l.touched[1] = true // the edge
	return out
}

// step moves the weights and clears the gradient. It moves only the words of the batch.
func (l *learner) step(rate float32) {
	weights, gradients, squares := l.n.Parts(), l.gradient.Parts(), l.squares.Parts()
	move := func(k, from, to int) {
		w, g, s := weights[k][from:to], gradients[k][from:to], squares[k][from:to]
		for i := range w {
			d := g[i] + float32(float32(l.o.Decay)*w[i])
			g[i] = 0
			if d != 0 {
				s[i] += float32(d * d)
				w[i] -= float32(rate*d) / (float32(math.Sqrt(float64(s[i]))) + 1e-6)
			}
		}
	}
	for k, part := range weights {
		if k >= saliency.WordParts {
			move(k, 0, len(part))
			continue
		}
		for w := range l.touched {
			if from := int(w) * saliency.Units; from < len(part) {
				move(k, from, from+saliency.Units)
			}
		}
	}
	l.n.KeepTold()
}
