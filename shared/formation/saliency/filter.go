// Package saliency is the attentional gate of the embedded policy: a small model, trained on synthetic
// dialogues, that scores how worth remembering a turn is.
//
// A score depends on the turn alone: its text, caption, role, and the speaker's own name. How turns are
// batched changes nothing, and nothing is kept between calls. Knowing the turn before did not help.
// What a turn says is only ever text: instructions in it steer nothing, and rate low.
package saliency

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Filter decides by a model. It is safe for concurrent use.
type Filter struct {
	version   string
	threshold float64
	bias      float64
	weights   vector
}

var _ formation.Filter = (*Filter)(nil)

// NewFilter returns a filter that decides by a model, or ErrModel.
func NewFilter(m Model) (*Filter, error) {
	weights, err := m.dense()
	if err != nil {
		return nil, err
	}
	return &Filter{version: m.Version, threshold: m.Threshold, bias: m.Bias, weights: weights}, nil
}

// NewTrained returns the filter with the model that is compiled into the binary. It panics
// when that cannot be read, because then the binary itself is broken.
func NewTrained() *Filter {
	m, err := Trained()
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in saliency model: %v", err))
	}
	f, err := NewFilter(m)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in saliency model: %v", err))
	}
	return f
}

// Filter scores every turn by itself.
func (f *Filter) Filter(ctx context.Context, _ memory.Scope, turns []memory.Turn) ([]memory.SaliencyDecision, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("filter turns: %w", err)
	}
	decisions := make([]memory.SaliencyDecision, len(turns))
	for i := range turns {
		score := f.Score(turns[i])
		decisions[i] = memory.SaliencyDecision{
			Salient: score >= f.threshold, Score: score, Threshold: f.threshold, PolicyVersion: f.version,
		}
	}
	return decisions, nil
}

// Score returns how worth remembering a turn is, 0 to 1.
func (f *Filter) Score(t memory.Turn) float64 {
	v := featuresOf(t)
	if v[size] == 0 && v[captioned] == 0 {
		return 0 // no words: an emoticon at most
	}
	sum := f.bias
	for i, x := range v {
		sum += float64(x * f.weights[i]) // the conversion forbids fusing, which rounds differently per processor
	}
	return logistic(sum)
}
