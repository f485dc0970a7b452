// Package crossencoder looks twice at what may change a stored statement: a linear model compares all of them, and where it finds a change
// likely enough, a small transformer reads the likeliest together with the new statement, word by word (decision 15).
package crossencoder

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/model/onnx"
	"github.com/mneme-memory/mneme/shared/model/wordpiece"
)

// ErrModel says that bytes are no cross-encoder that this code can use.
var ErrModel = errors.New("not a cross-encoder of relations")

// How many tokens of a stored and of a later statement are read: what it was trained on.
const (
	longestStored = 40
	longestLater  = 80
)

// outputs of a token: the logits of the labels but Unrelated, which count at the first token, and that of holding no more.
const outputs = relation.Outputs + 1

// Model reads a stored statement together with a later one. It is safe for concurrent use.
type Model struct {
	network   *onnx.Network
	tokenizer *wordpiece.Tokenizer
}

// Read is what the model makes of a pair of statements.
type Read struct {
	// Logits are those of what the later statement does to the stored one; see relation.Softmax.
	Logits relation.Logits
	// Gone are the probabilities that parts of the stored statement hold no more, given that something of it is changed.
	Gone []float64
}

// Parse reads an ONNX file and its tokenizer.json, as train.py writes them. What cannot be used is an ErrModel.
func Parse(network, tokenizer []byte) (*Model, error) {
	n, err := onnx.Parse(network)
	if err != nil {
		return nil, fmt.Errorf("%w: network %w", ErrModel, err)
	}
	t, err := wordpiece.Parse(tokenizer)
	if err != nil {
		return nil, fmt.Errorf("%w: tokenizer %w", ErrModel, err)
	}
	m := &Model{network: n, tokenizer: t}
	if before, after := t.Around(); len(before) != 1 || len(after) != 1 {
		return nil, fmt.Errorf("%w: tokenizer has %d tokens before a text and %d behind it, want 1 and 1", ErrModel, len(before), len(after))
	}
	long := strings.Repeat("later ", longestStored+longestLater) // the longest that is read
	if _, err := m.read([]string{long}, long); err != nil {
		return nil, err
	}
	return m, nil
}

//go:embed model.onnx
var shippedNetwork []byte

//go:embed tokenizer.json
var shippedTokenizer []byte

// Shipped returns the model of this package, made once; it takes a tenth of a second, and about 60 MB.
var Shipped = sync.OnceValue(func() *Model {
	m, err := Parse(shippedNetwork, shippedTokenizer)
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return m
})

// Read reads a stored statement, which may be given in parts, together with a later one. Of long statements the beginning is read; parts
// that are not read have probability 0.
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
	out, width, err := m.network.Run(ids, types)
	if err == nil && width != outputs {
		err = fmt.Errorf("gives %d numbers a token, want %d", width, outputs)
	}
	if err != nil {
		return Read{}, fmt.Errorf("%w: network %w", ErrModel, err)
	}
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
