package training

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/text/linear"
)

// StandingVersion names the models that Standing makes.
const StandingVersion = "standing/1"

// StandingOptions are the training options of the model of standing facts: facts that requests must respect.
type StandingOptions struct {
	// Cost weighs the loss of a turn against the squared weights.
	Cost float64 `json:"cost"`
	// Holders is the least number of turns with a term.
	Holders int `json:"holders"`
}

// StandingDefaults are the options of the model that the binary carries.
func StandingDefaults() StandingOptions { return StandingOptions{Cost: 0.1, Holders: 2} }

func checkFit(cost float64, holders int) error {
	switch {
	case !(cost > 0 && cost < 1e4):
		return fault.Terminal("cost", "is %v, want more than 0 and less than 10000", cost)
	case holders < 1:
		return fault.Terminal("holders", "is %d, want 1 or more", holders)
	}
	return nil
}

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
// Both labels have the same total weight. The same options give the same model. Options out of range are terminal
// errors.
func Standing(o StandingOptions) (*linear.Model, StandingRecord, error) {
	r := StandingRecord{Options: o}
	if err := checkFit(o.Cost, o.Holders); err != nil {
		return nil, r, err
	}
	train, err := userTurns(corpus.Train)
	if err != nil {
		return nil, r, err
	}
	r.Turns = len(train.texts)
	digest := fnv.New64a()
	for i, text := range train.texts {
		fmt.Fprintf(digest, "%q %t\n", text, train.needed[i])
		if train.needed[i] {
			r.Needed++
		}
	}
	r.Digest = strconv.FormatUint(digest.Sum64(), 16)
	m := train.fit(o.Cost, o.Holders)
	held, err := userTurns(corpus.Heldout)
	if err != nil {
		return nil, r, err
	}
	var needed, others []float64
	for i, text := range held.texts {
		if s := m.Score(text); held.needed[i] {
			needed = append(needed, s)
		} else {
			others = append(others, s)
		}
	}
	r.Heldout, r.AUC = len(held.texts), rounded(auc(needed, others))
	m.Training, err = json.Marshal(r)
	return m, r, err
}

// fit learns the weights of the terms that at least `least` texts have. cost weighs the loss against the squared
// weights.
func (n needs) fit(cost float64, least int) *linear.Model {
	holders, positive := map[string]int{}, 0
	terms := make([][]string, len(n.texts))
	for i, text := range n.texts {
		if n.needed[i] {
			positive++
		}
		terms[i] = linear.Terms(text)
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
	evaluate := func(w, g []float64) float64 {
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
	problem := optimize.Problem{
		Func: func(w []float64) float64 { return evaluate(w, nil) }, Grad: func(g, w []float64) { evaluate(w, g) },
	}
	result, err := optimize.Minimize(problem, make([]float64, bias+1), &optimize.Settings{GradientThreshold: 1e-4}, &optimize.LBFGS{})
	if result == nil {
		panic(err) // the problem is convex and begins at a finite point
	}
	round := func(x float64) float64 { return math.Round(x*1e3) / 1e3 }
	m := &linear.Model{Version: StandingVersion, Bias: round(result.X[bias]), Weights: map[string]float64{}}
	for c, t := range names {
		if w := round(result.X[c]); w != 0 {
			m.Weights[t] = w
		}
	}
	return m
}

// auc is the probability that an element of first scores above an element of others. A tie counts half.
func auc(first, others []float64) float64 {
	slices.Sort(others)
	sum := 0.0
	for _, s := range first {
		below, _ := slices.BinarySearch(others, s)
		upTo, _ := slices.BinarySearch(others, math.Nextafter(s, math.Inf(1)))
		sum += float64(below+upTo) / 2
	}
	return sum / float64(len(first)) / float64(len(others))
}

// writers are models of standing facts by session. Each is trained without the session's writer.
type writers map[string]*linear.Model

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
	models, out := map[string]*linear.Model{}, writers{}
	for _, d := range all {
		if models[d.Batch] == nil {
			models[d.Batch] = train.without(d.Batch).fit(o.Cost, o.Holders)
		}
		out[d.ID] = models[d.Batch]
	}
	return out, nil
}

// score scores again the statements of users in known sessions.
func (w writers) score(r rehearsal.Rehearsed) {
	own, asked := slices.Index(features.Names(), "standing"), slices.Index(features.Names(), "request_standing")
	for i, c := range r.Candidates {
		if len(c.Turns) == 0 {
			continue
		}
		last := c.Turns[len(c.Turns)-1]
		m, ok := w[last.SessionID]
		if !ok || last.Role == memory.RoleAssistant {
			continue
		}
		row := r.Example.Features[i]
		before := row[own]
		row[own] = float32(m.Score(last.Text))
		if row[asked] == before { // not for a question about a named person
			row[asked] = row[own]
		}
	}
}
