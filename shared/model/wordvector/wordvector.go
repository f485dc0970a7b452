// Package wordvector has static vectors of English words. Words of similar meaning have vectors of similar
// direction. distill_words.py distils them from a sentence encoder (see docs/word-vectors-model-card.md). They need
// neither that encoder nor any model server.
package wordvector

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
)

//go:embed vectors.bin
var shipped []byte

const magic = "MWV1"

// ErrFormat says that bytes are no table of word vectors.
var ErrFormat = errors.New("not a table of word vectors")

// Table maps words to vectors. It is safe for concurrent use.
type Table struct {
	dimension int
	rows      map[string]int32
	numbers   []int8
	// inverse scales each row to a unit vector.
	inverse []float32
}

// Shipped returns the shared table of this package. The first call makes it.
func Shipped() *Table { return table() }

var table = sync.OnceValue(func() *Table {
	t, err := Parse(shipped)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return t
})

// Parse reads a table. See distill_words.py for the format. It returns ErrFormat for other bytes.
func Parse(raw []byte) (*Table, error) {
	const header = len(magic) + 8
	if len(raw) < header || string(raw[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin with %q and two numbers", ErrFormat, magic)
	}
	words, dimension := int(binary.LittleEndian.Uint32(raw[4:])), int(binary.LittleEndian.Uint32(raw[8:]))
	rest := raw[header:]
	if dimension < 1 || dimension > 4096 || words < 0 || words > len(rest)/(dimension+2) {
		return nil, fmt.Errorf("%w: %d words of %d numbers do not fit into %d bytes", ErrFormat, words, dimension, len(rest))
	}
	t := &Table{dimension: dimension, rows: make(map[string]int32, words), inverse: make([]float32, words)}
	for i := range words {
		end := bytes.IndexByte(rest, '\n')
		if end < 1 {
			return nil, fmt.Errorf("%w: word %d is empty or has no end", ErrFormat, i)
		}
		t.rows[string(rest[:end])] = int32(i) //nolint:gosec // bounded by the length of raw
		rest = rest[end+1:]
	}
	if len(t.rows) != words || len(rest) != words*dimension {
		return nil, fmt.Errorf("%w: %d words and %d bytes of numbers, want %d and %d", ErrFormat, len(t.rows), len(rest),
			words, words*dimension)
	}
	t.numbers = make([]int8, len(rest))
	for i, b := range rest {
		t.numbers[i] = int8(b) //nolint:gosec // two's complement, as written
	}
	for i := range t.inverse {
		t.inverse[i] = inverse(t.row(int32(i))) //nolint:gosec // as above
	}
	return t, nil
}

func inverse(row []int8) float32 {
	sum := 0
	for _, x := range row {
		sum += int(x) * int(x)
	}
	if sum == 0 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(sum)))
}

func (t *Table) row(word int32) []int8 {
	return t.numbers[int(word)*t.dimension : (int(word)+1)*t.dimension]
}

// Dimension is the length of the vectors.
func (t *Table) Dimension() int { return t.dimension }

// Len is how many words the table has.
func (t *Table) Len() int { return len(t.inverse) }

// Find returns the number of a word in lower case. It looks for the word itself, and then for the word without a
// usual ending.
func (t *Table) Find(word string) (int32, bool) {
	if i, ok := t.rows[word]; ok {
		return i, true
	}
	for _, ending := range [...]string{"'s", "s", "es", "ed", "d", "ing", "ly"} {
		base, cut := strings.CutSuffix(word, ending)
		if !cut || len(base) < 3 {
			continue
		}
		if i, ok := t.rows[base]; ok {
			return i, true
		}
	}
	return 0, false
}

// Similarity is the cosine of two words by their numbers, -1 to 1.
func (t *Table) Similarity(a, b int32) float32 {
	x, y := t.row(a), t.row(b)
	var s0, s1 int32
	for i := 0; i+1 < len(x) && i+1 < len(y); i += 2 {
		s0 += int32(x[i]) * int32(y[i])
		s1 += int32(x[i+1]) * int32(y[i+1])
	}
	if n := len(x) - 1; n%2 == 0 {
		s0 += int32(x[n]) * int32(y[n])
	}
	return float32(s0+s1) * t.inverse[a] * t.inverse[b]
}

// Add adds the unit vector of a word, times weight, to sum, which has Dimension numbers.
func (t *Table) Add(sum []float32, word int32, weight float32) {
	weight *= t.inverse[word]
	for i, x := range t.row(word) {
		sum[i] += weight * float32(x)
	}
}
