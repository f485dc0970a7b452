// Package supervised fits the weights of the reranker to examples with known relevant candidates.
package supervised

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// Example is a query with its known relevant candidates.
type Example struct {
	// Features has the features of each candidate.
	Features [][]float32
	// Cosine has the cosine of each candidate; nil means 0 for each.
	Cosine []float32
	// Query is the query's projected embedding, and Projected has the candidates' embeddings. They are nil if unknown;
	// only Refit needs them.
	Query     []float32
	Projected [][]float32
	// Relevant says which candidates are right. An example with none, or with nothing else, teaches nothing and is passed
	// over.
	Relevant []bool
	// Weight is how much the example counts; 0 means 1.
	Weight float64
}

// PretrainOptions say how the prior is trained.
type PretrainOptions struct {
	// FeatureSet is name and version of the features.
	FeatureSet string
	// L2 is how strongly weights are drawn to zero, in units of the features' scales.
	L2 float64
	// Temperature divides the scores. With the temperature of Settings, random draws explore as widely as the prior is
	// unsure.
	Temperature float64
	// NotNegative has the places of features with weights of at least 0. It is for features that measure how near a
	// candidate is, so that a nearer one never loses by it.
	NotNegative []int
	// Precision is the largest slope, by the weights in units of the features' scales, that counts as none.
	Precision float64
}

// DefaultPretrainOptions suit some hundreds to some ten thousands of examples.
func DefaultPretrainOptions(featureSet string) PretrainOptions {
	return PretrainOptions{FeatureSet: featureSet, L2: 1e-4, Temperature: ranking.DefaultSettings().Temperature,
		Precision: 1e-5}
}

func (o PretrainOptions) validate() error {
	switch {
	case !(o.L2 > 0 && o.L2 <= 10):
		return fault.Terminal("l2", "is %v, want more than 0 and at most 10", o.L2)
	case !(o.Temperature >= 1e-3 && o.Temperature <= 1e3):
		return fault.Terminal("temperature", "is %v, want 0.001 to 1000", o.Temperature)
	case !(o.Precision > 0 && o.Precision <= 1):
		return fault.Terminal("precision", "is %v, want more than 0 and at most 1", o.Precision)
	}
	return nil
}

// Pretrain learns the weights of features from examples by supervision (RMM 8.6), listwise. It minimises the cross
// entropy between the softmax of the scores over the candidates and the uniform distribution on the relevant ones.
// Maps stay zero. Equal examples, order and options give equal weights. Features are brought to one scale inside,
// which is folded into the weights and returned as FeatureScale. A feature that never varies among the candidates of a
// query keeps weight 0. Malformed examples, and examples without any information, are terminal errors.
func Pretrain(ctx context.Context, examples []Example, o PretrainOptions) (ranking.Weights, error) {
	if err := o.validate(); err != nil {
		return ranking.Weights{}, fmt.Errorf("pretrain: %w", err)
	}
	lists, err := readExamples(examples)
	if err != nil {
		return ranking.Weights{}, fmt.Errorf("pretrain: %w", err)
	}
	f := &fit{lists: lists, scales: scales(lists), options: o}
	for _, k := range o.NotNegative {
		if k < 0 || k >= len(f.scales) {
			err := fault.Terminal("not_negative", "has %d, want 0 to %d", k, len(f.scales)-1)
			return ranking.Weights{}, fmt.Errorf("pretrain: %w", err)
		}
	}
	at, err := f.bounded(ctx)
	if err != nil {
		return ranking.Weights{}, fmt.Errorf("pretrain: %w", err)
	}
	w := f.weights(at)
	if err := w.Validate(); err != nil {
		return ranking.Weights{}, fmt.Errorf("pretrain: %w", err)
	}
	return w, nil
}

// list is an example that was checked.
type list struct {
	query      []float32
	candidates []ranking.Candidate
	relevant   []bool
	// right is the number of relevant candidates.
	right int
	// weight is how much the list counts.
	weight float64
}

func readExamples(examples []Example) ([]list, error) {
	var lists []list
	shape := ranking.Weights{}
	for i, e := range examples {
		if shape.W == nil && len(e.Features) > 0 {
			shape.W = make([]float32, len(e.Features[0]))
		}
		l, err := e.list(shape)
		if err != nil {
			return nil, fmt.Errorf("example %d: %w", i, err)
		}
		if l.right > 0 && l.right < len(l.candidates) {
			lists = append(lists, l)
		}
	}
	if len(lists) == 0 {
		return nil, fault.Terminal("examples", "has no example with both relevant and other candidates")
	}
	return lists, nil
}

// list checks an example against weights of the shape of the examples before.
func (e Example) list(shape ranking.Weights) (list, error) {
	n := len(e.Features)
	if len(e.Relevant) != n || e.Cosine != nil && len(e.Cosine) != n {
		return list{}, fault.Terminal(
			"relevant",
			"has %d entries, cosine %d, want as many as features: %d",
			len(e.Relevant),
			len(e.Cosine),
			n,
		)
	}
	if e.Projected != nil && len(e.Projected) != n {
		return list{}, fault.Terminal("projected", "has %d entries, want none or as many as features: %d", len(e.Projected),
			n)
	}
	if e.Weight < 0 || e.Weight-e.Weight != 0 {
		return list{}, fault.Terminal("weight", "is %v, want a finite number of 0 or more", e.Weight)
	}
	l := list{query: e.Query, candidates: make([]ranking.Candidate, n), relevant: e.Relevant, weight: cmp.Or(e.Weight, 1)}
	for i := range l.candidates {
		l.candidates[i].Features = e.Features[i]
		if e.Cosine != nil {
			l.candidates[i].Cosine = e.Cosine[i]
		}
		if e.Projected != nil {
			l.candidates[i].Projected = e.Projected[i]
		}
		if e.Relevant[i] {
			l.right++
		}
	}
	_, err := shape.Scores(e.Query, l.candidates)
	return l, err
}
