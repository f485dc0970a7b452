package saliency

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// ErrModel says that a file is no model of this filter.
var ErrModel = errors.New("not a model of the saliency filter")

// Model is the file form of a trained filter: a network with its weights as bytes, and the threshold.
type Model struct {
	// Version is name and version of the filter, kept with every decision.
	Version string `json:"version"`
	// Training has the sources and options of the model's training; decisions do not need it.
	Training json.RawMessage `json:"training,omitempty"`
	// Threshold is the score from which a turn is salient, 0 to 1.
	Threshold float64 `json:"threshold"`
	// Words are the words of the network, separated by blanks.
	Words string `json:"words"`
	// Scales have the value of a weight of 1 for each part of the network. Weights are all parts, a signed byte a
	// weight.
	Scales  []float32 `json:"scales"`
	Weights []byte    `json:"weights"`
}

//go:embed model.json
var trained []byte

// Trained returns the model that is compiled into the binary.
func Trained() (Model, error) { return ParseModel(trained) }

// ParseModel reads a model's JSON. The error is ErrModel for anything that cannot decide.
func ParseModel(data []byte) (Model, error) {
	var m Model
	if err := json.Unmarshal(data, &m); err != nil {
		return Model{}, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold < 1) {
		return Model{}, fmt.Errorf("%w: version %q, threshold %v", ErrModel, m.Version, m.Threshold)
	}
	if _, err := m.Network(); err != nil {
		return Model{}, err
	}
	return m, nil
}

// SetNetwork puts a network into the model, each weight rounded to one of 255 steps of its part.
func (m *Model) SetNetwork(n *Network) {
	m.Words, m.Scales, m.Weights = strings.Join(n.Words, " "), nil, nil
	for _, part := range n.Parts() {
		var most float32
		for _, w := range part {
			most = max(most, float32(math.Abs(float64(w))))
		}
		scale := most / 127
		m.Scales = append(m.Scales, scale)
		for _, w := range part {
			if scale > 0 {
				w /= scale
			}
			m.Weights = append(m.Weights, byte(int8(math.Round(float64(w)))))
		}
	}
}

// Network returns the network of the model, or ErrModel.
func (m Model) Network() (*Network, error) {
	words := strings.Split(m.Words, " ")
	if len(words) < 2 || words[0] != wordUnknown || words[edge] != wordEdge {
		return nil, fmt.Errorf("%w: its words do not begin with %s %s", ErrModel, wordUnknown, wordEdge)
	}
	n := newNetwork(words)
	parts, rest := n.Parts(), m.Weights
	if len(m.Scales) != len(parts) {
		return nil, fmt.Errorf("%w: it has %d scales, want %d", ErrModel, len(m.Scales), len(parts))
	}
	for i, part := range parts {
		if scale := m.Scales[i]; len(rest) < len(part) || !(scale >= 0 && scale < 1e3) {
			return nil, fmt.Errorf("%w: part %d has scale %v and %d of %d weights", ErrModel, i, scale, len(rest), len(part))
		}
		for j := range part {
			part[j] = float32(int8(rest[j])) * m.Scales[i] //nolint:gosec // two's complement, as written
		}
		rest = rest[len(part):]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d weights too many", ErrModel, len(rest))
	}
	return n, nil
}
