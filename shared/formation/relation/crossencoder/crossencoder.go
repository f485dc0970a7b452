// Package crossencoder judges the effect of a message on stored statements, by small transformers (decision 15). One
// reads the message alone and detects whether it may change an earlier statement. If so, a linear model ranks the
// stored statements. The cross-encoder then reads the likeliest together with the message, word by word.
package crossencoder

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/model/onnx"
	"github.com/mneme-memory/mneme/shared/model/wordpiece"
)

// ErrModel says that bytes are no cross-encoder that this code can use.
var ErrModel = errors.New("not a cross-encoder of relations")

// The limits of tokens read of a stored and of a later statement, as in training.
const (
	longestStored = 40
	longestLater  = 80
)

// outputs are the logits of a token: the labels except Unrelated, which count at the first token, and the logit that
// the token no longer holds.
const outputs = relation.Outputs + 1

// Model reads a stored statement together with a later one, and a later one alone. It is safe for concurrent use.
type Model struct {
	pair, alone *onnx.Network
	tokenizer   *wordpiece.Tokenizer
}

// Outputs of the file: the numbers of a pair's tokens, and the numbers of a message's tokens, of which the first token
// counts.
const (
	outputPair  = "logits"
	outputAlone = "change"
)

// Read is the model's output for a pair of statements.
type Read struct {
	// Logits are the logits of the later statement's effect on the stored one; see relation.Softmax.
	Logits relation.Logits
	// Gone are the probabilities that parts of the stored statement hold no more, given that something of it is changed.
	Gone []float64
}

// Parse reads an ONNX file, as train.py writes it, for the tokens of a tokenizer. What cannot be used is an ErrModel.
func Parse(network []byte, t *wordpiece.Tokenizer) (*Model, error) {
	n, err := onnx.ParseOutputs(network, outputPair, outputAlone)
	if err != nil {
		return nil, fmt.Errorf("%w: network %w", ErrModel, err)
	}
	m := &Model{pair: n[0], alone: n[1], tokenizer: t}
	if before, after := t.Around(); len(before) != 1 || len(after) != 1 {
		return nil, fmt.Errorf("%w: tokenizer has %d tokens before a text and %d behind it, want 1 and 1", ErrModel,
			len(before), len(after))
	}
	long := strings.Repeat("later ", longestStored+longestLater) // the longest that is read
	if _, err := m.read([]string{long}, long); err != nil {
		return nil, err
	}
	_, err = m.change(long)
	return m, err
}

//go:embed model.onnx
var shippedNetwork []byte

// Shipped returns the model of this package, made once; it takes a tenth of a second, and about 30 MB.
var Shipped = sync.OnceValue(func() *Model {
	m, err := Parse(shippedNetwork, wordpiece.Uncased())
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return m
})

// Read reads a stored statement, which may be given in parts, together with a later one. Of long statements the
// beginning is read; parts that are not read have probability 0.
func (m *Model) Read(stored []string, later string) Read {
	r, err := m.read(stored, later)
	if err != nil {
		panic(err) // Parse has seen it run, and no text makes a difference to that
	}
	return r
}

func (m *Model) read(stored []string, later string) (Read, error) {
	before, after := m.tokenizer.Around()
	ids := append([]int64{}, before...)
	ends := make([]int, len(stored))
	for i, part := range stored {
		pieces, _ := m.tokenizer.Pieces(part, len(before)+longestStored-len(ids))
		ids = append(ids, pieces...)
		ends[i] = len(ids)
	}
	ids = append(ids, after...)
	types := make([]int64, len(ids))
	pieces, _ := m.tokenizer.Pieces(later, longestLater)
	ids = append(append(ids, pieces...), after...)
	for len(types) < len(ids) {
		types = append(types, 1)
	}
	out, err := run(m.pair, ids, types, outputs)
	if err != nil {
		return Read{}, err
	}
	const width = outputs
	r := Read{Gone: make([]float64, len(stored))}
	copy(r.Logits[:], out)
	from := len(before)
	for i, to := range ends {
		for t := from; t < to; t++ {
			r.Gone[i] += 1 / (1 + math.Exp(-float64(out[t*width+relation.Outputs]))) / float64(to-from)
		}
		from = to
	}
	return r, nil
}

// Change is the probability that a message changes something which its speaker told before, whatever that is. Of a long
// message the beginning is read.
func (m *Model) Change(message string) float64 {
	z, err := m.change(message)
	if err != nil {
		panic(err) // as in Read
	}
	return z
}

func (m *Model) change(message string) (float64, error) {
	before, after := m.tokenizer.Around()
	pieces, _ := m.tokenizer.Pieces(message, longestLater)
	ids := slices.Concat(before, pieces, after)
	types := make([]int64, len(ids))
	for i := range types {
		types[i] = 1 // it is the later one
	}
	out, err := run(m.alone, ids, types, 1)
	if err != nil {
		return 0, err
	}
	return 1 / (1 + math.Exp(-float64(out[0]))), nil
}

// run returns a network's output for tokens, width numbers for each.
func run(n *onnx.Network, ids, types []int64, width int) ([]float32, error) {
	out, got, err := n.Run(ids, types)
	if err == nil && got != width {
		err = fmt.Errorf("gives %d numbers a token, want %d", got, width)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: network %w", ErrModel, err)
	}
	return out, nil
}
