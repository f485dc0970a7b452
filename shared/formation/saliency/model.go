package saliency

import (
	_ "embed" // the model is part of the program
	"fmt"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

// Model is the file form of a trained filter: a network with its weights as bytes, and the threshold.
type Model struct {
	// The version is kept with every decision.
	classifier.Header
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

// Check reports why the model cannot decide.
func (m *Model) Check() error {
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold < 1) {
		return fmt.Errorf("version %q, threshold %v", m.Version, m.Threshold)
	}
	_, err := m.network()
	return err
}

// SetNetwork puts a network into the model, each weight rounded to one of 255 steps of its part.
func (m *Model) SetNetwork(n *Network) {
	m.Words, m.Scales, m.Weights = strings.Join(n.Words, " "), nil, nil
	for _, part := range n.Parts() {
		scale, weights := classifier.Quantize(part)
		m.Scales, m.Weights = append(m.Scales, scale), append(m.Weights, weights...)
	}
}

// network returns the network of the model.
func (m *Model) network() (*Network, error) {
	words := strings.Split(m.Words, " ")
	if len(words) < 2 || words[0] != wordUnknown || words[edge] != wordEdge {
		return nil, fmt.Errorf("its words do not begin with %s %s", wordUnknown, wordEdge)
	}
	n := newNetwork(words)
	parts, rest := n.Parts(), m.Weights
	if len(m.Scales) != len(parts) {
		return nil, fmt.Errorf("it has %d scales, want %d", len(m.Scales), len(parts))
	}
	for i, part := range parts {
		if scale := m.Scales[i]; len(rest) < len(part) || !(scale >= 0 && scale < 1e3) {
			return nil, fmt.Errorf("part %d has scale %v and %d of %d weights", i, scale, len(rest), len(part))
		}
		for j := range part {
			part[j] = float32(int8(rest[j])) * m.Scales[i] //nolint:gosec // two's complement, as written
		}
		rest = rest[len(part):]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d weights too many", len(rest))
	}
	return n, nil
}

//go:embed commitment.json
var commitmentModel []byte

// commitments is the network that separates an assistant's commitments from all other sentences.
var commitments = classifier.Shipped("commitments", commitmentModel, Parse)

var splitter = sync.OnceValue(text.NewSplitter)

// Commitment returns the sentence of an assistant's turn that most surely states an action, a note or a promise of the
// assistant. It returns "" without such a sentence, and for others' turns. It does not read code, quoted lines and
// questions.
func Commitment(t memory.Turn) string {
	if t.Role != memory.RoleAssistant {
		return ""
	}
	f := commitments()
	best, most := "", f.threshold
	for _, b := range text.Blocks(t.Text) {
		if b.Kind != text.Prose {
			continue
		}
		for _, s := range splitter().Split(b.Text) {
			if s = strings.TrimLeft(text.OneLine(s), "-*• "); strings.HasSuffix(s, "?") {
				continue
			}
			if score, _ := f.score(memory.Turn{Role: memory.RoleAssistant, Text: s}); score >= most {
				best, most = s, score
			}
		}
	}
	return best
}
