package training

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

const standingVersion = "standing/1"

// StandingOptions are the training options of the model of standing facts: facts that requests must respect.
type StandingOptions struct {
	Cost    float64 `json:"cost" range:"(0,1e4)" use:"weight of the loss against the squared weights"`
	Holders int     `json:"holders" range:"[1,]" use:"how many turns have to have a word for something to be learned of it"`
}

var standingDefaults = StandingOptions{Cost: 0.1, Holders: 2}

// StandingRecord records the options, the data and the figures of a model. The model's file has it.
type StandingRecord struct {
	Options StandingOptions `json:"options"`
	// Turns and Needed count the training data. Digest is the digest of all training data.
	Turns  int    `json:"turns"`
	Needed int    `json:"needed"`
	Digest string `json:"digest"`
	// Heldout counts turns of other writers. AUC is the probability that a needed turn scores above another turn.
	Heldout int     `json:"heldout_turns"`
	AUC     float64 `json:"heldout_auc"`
}

// needs are users' turns, each marked when later requests need it.
type needs struct {
	texts  []string
	needed []bool
	// batches name the writers of the turns.
	batches []string
}

func (n *needs) add(text string, needed bool, batch string) {
	n.texts, n.needed, n.batches = append(n.texts, text), append(n.needed, needed), append(n.batches, batch)
}

// positive counts the marked turns. digest is the digest of all.
func (n needs) positive() (positive int, digest string) {
	h := fnv.New64a()
	for i, text := range n.texts {
		fmt.Fprintf(h, "%q %t\n", text, n.needed[i])
		positive += count(n.needed[i])
	}
	return positive, strconv.FormatUint(h.Sum64(), 16)
}

// without leaves out the turns of a batch's writer.
func (n needs) without(batch string) (out needs) {
	for i, b := range n.batches {
		if b != batch {
			out.add(n.texts[i], n.needed[i], b)
		}
	}
	return out
}

// userTurns returns users' turns to an assistant in the corpus.
func userTurns(split corpus.Split) (needs, error) {
	all, err := assisted(split)
	var out needs
	for _, d := range all {
		for _, l := range d.Labelled() {
			if l.Turn.Role == memory.RoleUser {
				out.add(l.Turn.Text, l.Needed, d.Batch)
			}
		}
	}
	return out, err
}

// Standing trains the model of standing facts: a logistic regression over the terms of users' turns to an assistant.
// Both labels have the same total weight.
func Standing(_ context.Context, o StandingOptions) (Made, error) {
	train, err := userTurns(corpus.Train)
	if err != nil {
		return Made{}, err
	}
	held, err := userTurns(corpus.Heldout)
	if err != nil {
		return Made{}, err
	}
	m := train.fit(standingVersion, o.Cost, o.Holders)
	scores := map[bool][]float64{}
	for i, text := range held.texts {
		scores[held.needed[i]] = append(scores[held.needed[i]], m.Score(text))
	}
	r := &StandingRecord{Options: o, Turns: len(train.texts), Heldout: len(held.texts),
		AUC: auc(scores[true], scores[false])}
	r.Needed, r.Digest = train.positive()
	return made(m, &m.Header, r, 0, "\t")
}

// fit learns the weights of the terms that at least `least` texts have. cost weighs the loss against the squared
// weights.
func (n needs) fit(version string, cost float64, least int) *classifier.Terms {
	holders, positive := map[string]int{}, 0
	terms := make([][]string, len(n.texts))
	for i, text := range n.texts {
		positive += count(n.needed[i])
		terms[i] = classifier.TermsOf(text)
		for _, t := range terms[i] {
			holders[t]++
		}
	}
	var names []string
	for t, h := range holders {
		if h >= least {
			names = append(names, t)
		}
	}
	slices.Sort(names)
	rows, bias := make([][]int, len(terms)), len(names)
	for i := range terms {
		for _, t := range terms[i] {
			if c, ok := slices.BinarySearch(names, t); ok {
				rows[i] = append(rows[i], c)
			}
		}
	}
	half := float64(len(rows)) / 2
	costs := map[bool]float64{true: cost * half / float64(positive), false: cost * half / float64(len(rows)-positive)}
	evaluate := func(g, w []float64) float64 {
		loss := 0.5 * floats.Dot(w[:bias], w[:bias])
		if g != nil {
			copy(g, w)
			g[bias] = 0
		}
		for i, row := range rows {
			z := w[bias]
			for _, c := range row {
				z += w[c]
			}
			sign := -1.0
			if n.needed[i] {
				sign = 1
			}
			loss += costs[n.needed[i]] * math.Log1p(math.Exp(-sign*z))
			if g != nil {
				d := -sign * costs[n.needed[i]] / (1 + math.Exp(sign*z))
				for _, c := range row {
					g[c] += d
				}
				g[bias] += d
			}
		}
		return loss
	}
	learned := minimise(bias+1, &optimize.Settings{GradientThreshold: 1e-4}, evaluate)
	round := func(x float64) float64 { return math.Round(x*1e3) / 1e3 }
	m := &classifier.Terms{Header: classifier.Header{Version: version}, Bias: round(learned[bias]),
		Weights: map[string]float64{}}
	for c, t := range names {
		if w := round(learned[c]); w != 0 {
			m.Weights[t] = w
		}
	}
	return m
}

// minimise returns the place of the least value of a convex function of n numbers. evaluate returns the value at w, and
// writes the gradient to g, unless g is nil.
func minimise(n int, s *optimize.Settings, evaluate func(g, w []float64) float64) []float64 {
	problem := optimize.Problem{
		Func: func(w []float64) float64 { return evaluate(nil, w) }, Grad: func(g, w []float64) { evaluate(g, w) },
	}
	result, err := optimize.Minimize(problem, make([]float64, n), s, &optimize.LBFGS{})
	if result == nil {
		panic(err) // the problem is convex and begins at a finite point
	}
	return result.X
}

// writers are models of standing facts by session. Each is trained without the session's writer.
type writers map[string]*classifier.Terms

// leaveOneOut trains a model for each training writer. A ranker trained on the shipped model's scores would trust
// them too much: that model has learned these turns.
func leaveOneOut(o StandingOptions) (writers, error) {
	train, err := userTurns(corpus.Train)
	if err != nil {
		return nil, err
	}
	all, err := assisted(corpus.Train)
	if err != nil {
		return nil, err
	}
	models, out := map[string]*classifier.Terms{}, writers{}
	for _, d := range all {
		if models[d.Batch] == nil {
			models[d.Batch] = train.without(d.Batch).fit(standingVersion, o.Cost, o.Holders)
		}
		out[d.ID] = models[d.Batch]
	}
	return out, nil
}

// score scores again the statements of users in known sessions, where the question's regime has a feature for them.
func (w writers) score(r rehearsal.Rehearsed) {
	names := features.Names()
	for i, c := range r.Candidates {
		at := slices.Index(names, c.Regime.String()+"_standing")
		if at < 0 || len(c.Turns) == 0 {
			continue
		}
		last := c.Turns[len(c.Turns)-1]
		if m, ok := w[last.SessionID]; ok && last.Role != memory.RoleAssistant {
			r.Example.Features[i][at] = float32(m.Score(last.Text))
		}
	}
}
