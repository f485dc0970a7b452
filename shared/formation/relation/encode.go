package relation

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// A model's file has: magic; the length of the head; the head as JSON. Lists follow, little-endian, each after its
// length. They are the lexicon (keys, rarities, weight of the unseen, groups), blocks (keys, rarities, weights, scale,
// length), numbers (mean, scale, weights), and bias.
const magic = "MRL1"

// maxList bounds a list of a file, against bytes that are none.
const maxList = 1 << 22

// Encode writes a model as Parse reads it; the same model gives the same bytes.
func (m *Model) Encode() ([]byte, error) {
	text, err := json.Marshal(m.head)
	if err != nil {
		return nil, fmt.Errorf("encode model of relations: %w", err)
	}
	w := writer{}
	w.WriteString(magic)
	writeList(&w, text)
	writeList(&w, m.lexicon.keys)
	writeList(&w, m.lexicon.rarities)
	w.write(m.lexicon.unseen)
	writeList(&w, m.lexicon.clusters)
	for b := range m.weights.Sparse {
		block := &m.weights.Sparse[b]
		writeList(&w, block.Keys)
		writeList(&w, block.Rarities)
		writeList(&w, block.Weights)
		w.write(block.Scale)
		w.write(block.Length)
	}
	writeList(&w, m.weights.Dense.Mean)
	writeList(&w, m.weights.Dense.Scale)
	writeList(&w, m.weights.Dense.Weights)
	w.write(m.weights.Bias)
	return w.Bytes(), nil
}

type writer struct{ bytes.Buffer }

func (w *writer) write(value any) {
	if err := binary.Write(&w.Buffer, binary.LittleEndian, value); err != nil {
		panic(err) // a buffer takes all, and the values are of fixed size
	}
}

func writeList[T any](w *writer, list []T) {
	w.write(uint32(len(list))) //nolint:gosec // lists of a model are far shorter
	w.write(list)
}

// Parse reads a model for a table of word vectors. It returns ErrModel for invalid data, another table, or another
// version of the features.
func Parse(data []byte, table *wordvector.Table) (*Model, error) {
	m, err := parse(data, table)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	return m, nil
}

func parse(data []byte, table *wordvector.Table) (*Model, error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, fmt.Errorf("it does not begin with %q", magic)
	}
	r := reader{Reader: bytes.NewReader(rest)}
	text := readList[byte](&r)
	l := &Lexicon{table: table, keys: readList[uint32](&r), rarities: readList[uint8](&r)}
	r.read(&l.unseen)
	l.clusters = readList[uint8](&r)
	w := &Weights{}
	for b := range w.Sparse {
		block := &w.Sparse[b]
		block.Keys, block.Rarities, block.Weights = readList[uint32](&r), readList[uint8](&r), readList[[Outputs]int8](&r)
		r.read(&block.Scale)
		r.read(&block.Length)
	}
	w.Dense = Numbers{Mean: readList[float32](&r), Scale: readList[float32](&r), Weights: readList[[Outputs]float32](&r)}
	r.read(&w.Bias)
	if r.err == nil && r.Len() > 0 {
		r.err = fmt.Errorf("%d bytes too many", r.Len())
	}
	if r.err != nil {
		return nil, r.err
	}
	m := &Model{lexicon: l, weights: w}
	if err := json.Unmarshal(text, &m.head); err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	for b := range w.Sparse {
		w.Sparse[b].index()
	}
	return m, nil
}

// reader keeps the first error.
type reader struct {
	*bytes.Reader
	err error
}

func (r *reader) read(to any) {
	if r.err == nil {
		r.err = binary.Read(r.Reader, binary.LittleEndian, to)
	}
}

func readList[T any](r *reader) []T {
	var n uint32
	r.read(&n)
	var one T
	if r.err == nil && (n > maxList || int(n)*binary.Size(one) > r.Len()) {
		r.err = fmt.Errorf("a list of %d: %w", n, io.ErrUnexpectedEOF)
	}
	if r.err != nil {
		return nil
	}
	list := make([]T, n)
	r.read(list)
	return list
}

func (m *Model) check() error {
	l, w := m.lexicon, m.weights
	switch {
	case m.head.Features != featureSet:
		return fmt.Errorf("it is for features %d, want %d", m.head.Features, featureSet)
	case !(m.head.Temperature > 1e-3 && m.head.Temperature < 1e3):
		return fmt.Errorf("temperature %g", m.head.Temperature)
	case !m.head.Thresholds.valid():
		return fmt.Errorf("thresholds %+v", m.head.Thresholds)
	case len(l.keys) != len(l.rarities):
		return fmt.Errorf("%d words with %d rarities", len(l.keys), len(l.rarities))
	case len(l.clusters) != l.table.Len():
		return fmt.Errorf("groups of %d words, the table has %d", len(l.clusters), l.table.Len())
	case len(w.Dense.Mean) != l.Dense() || len(w.Dense.Scale) != l.Dense() || len(w.Dense.Weights) != l.Dense():
		return fmt.Errorf("%d, %d and %d numbers, want %d", len(w.Dense.Mean), len(w.Dense.Scale), len(w.Dense.Weights),
			l.Dense())
	}
	for b := range w.Sparse {
		if err := w.Sparse[b].check(); err != nil {
			return fmt.Errorf("%s: %w", BlockNames[b], err)
		}
	}
	errs := []error{ascending(l.keys), finite(w.Dense.Mean), finite(w.Dense.Scale), finite(w.Bias[:]),
		finite([]float32{l.unseen})}
	for _, weights := range w.Dense.Weights {
		errs = append(errs, finite(weights[:]))
	}
	return errors.Join(errs...)
}

func (t Thresholds) valid() bool {
	return t.Certain > 0 && t.Certain <= 1 && t.Possible > 0 && t.Possible <= t.Certain &&
		!math.IsNaN(t.Certain+t.Possible)
}
