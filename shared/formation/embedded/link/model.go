// Package link is the small model that says whether a statement changes a known one: boosted decision trees over a
// few dozen features that are read off the two. Training and prediction are deterministic.
package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// ErrModel says that a file is no model for these features.
var ErrModel = errors.New("not a model of changes")

// Model is a sum of trees; its logistic is a probability.
type Model struct {
	// Features are the names of the inputs, in order: a model fits only code that reads the same ones.
	Features []string `json:"features"`
	// Threshold is the probability from which a pair counts as a change.
	Threshold float64 `json:"threshold"`
	// Bias is the log odds before any tree.
	Bias float64 `json:"bias"`
	// Trees are added up.
	Trees []Tree `json:"trees"`
	// Trained says how it came about.
	Trained Trained `json:"trained"`
}

// Trained is how a model came about.
type Trained struct {
	Seed     uint64  `json:"seed"`
	Persons  int     `json:"persons"`
	Rounds   int     `json:"rounds"`
	Examples int     `json:"examples"`
	Changes  int     `json:"changes"`
	Options  Options `json:"options"`
	Loss     float64 `json:"loss"`
}

// Tree is a binary tree as a list of nodes; the first is the root.
type Tree []Node

// Node is a leaf when Left is 0, else a question: inputs of at most At go to Left, others to Right.
type Node struct {
	Feature int     `json:"f,omitempty"`
	At      float64 `json:"at,omitempty"`
	Left    int     `json:"l,omitempty"`
	Right   int     `json:"r,omitempty"`
	Value   float64 `json:"v,omitempty"`
}

// Parse reads a model and checks that it is whole and made for the named features.
func Parse(data []byte, features []string) (*Model, error) {
	var m Model
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if len(m.Features) != len(features) {
		return nil, fmt.Errorf("%w: it has %d features, want %d", ErrModel, len(m.Features), len(features))
	}
	for i, name := range features {
		if m.Features[i] != name {
			return nil, fmt.Errorf("%w: feature %d is %q, want %q", ErrModel, i, m.Features[i], name)
		}
	}
	for i, tree := range m.Trees {
		if err := tree.check(len(features)); err != nil {
			return nil, fmt.Errorf("%w: tree %d: %w", ErrModel, i, err)
		}
	}
	return &m, nil
}

// Encode writes a model as Parse reads it.
func (m *Model) Encode() ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode model of changes: %w", err)
	}
	return append(data, '\n'), nil
}

// check makes sure that walking the tree ends and stays inside it.
func (t Tree) check(features int) error {
	if len(t) == 0 {
		return errors.New("is empty")
	}
	for i, n := range t {
		if n.Left == 0 {
			continue
		}
		if n.Feature < 0 || n.Feature >= features || n.Left <= i || n.Right <= i || n.Left >= len(t) || n.Right >= len(t) {
			return fmt.Errorf("node %d leads nowhere", i)
		}
	}
	return nil
}

func (t Tree) value(x []float64) float64 {
	n := t[0]
	for n.Left != 0 {
		if x[n.Feature] <= n.At {
			n = t[n.Left]
		} else {
			n = t[n.Right]
		}
	}
	return n.Value
}

// Probability is how likely the pair with features x is a change, 0 to 1.
func (m *Model) Probability(x []float64) float64 {
	sum := m.Bias
	for _, t := range m.Trees {
		sum += t.value(x)
	}
	return sigmoid(sum)
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
