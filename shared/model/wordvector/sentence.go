package wordvector

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

//go:embed sentences.bin
var shippedSentences []byte

const sentenceMagic = "MSV1"

// Sentences has the contribution of each word of the shipped [Table] to the vector of a text. The sums of these
// vectors approximate the vectors of a sentence encoder (distill_sentences.py). So texts about similar subjects are
// near. The vectors of the Table describe single words, so words of similar meaning are near. A word that tells
// much about the subject of a text has a longer vector. It is safe for concurrent use.
type Sentences struct {
	dimension int
	numbers   []int8
	// factors scales each row to the weight of its word, 1 on average.
	factors []float32
}

// ShippedSentences returns the shared table of this package. The first call makes it.
func ShippedSentences() *Sentences { return sentences() }

var sentences = sync.OnceValue(func() *Sentences {
	s, err := ParseSentences(shippedSentences, Shipped().Len())
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return s
})

// ParseSentences reads the contributions of that number of words. See distill_sentences.py for the format. It
// returns ErrFormat for other bytes.
func ParseSentences(raw []byte, words int) (*Sentences, error) {
	const header = len(sentenceMagic) + 8
	if len(raw) < header || string(raw[:len(sentenceMagic)]) != sentenceMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q and two numbers", ErrFormat, sentenceMagic)
	}
	n, dimension := int(binary.LittleEndian.Uint32(raw[4:])), int(binary.LittleEndian.Uint32(raw[8:]))
	rest := raw[header:]
	if n != words || dimension < 1 || dimension > 4096 || len(rest) != n*(4+dimension) {
		return nil, fmt.Errorf("%w: %d words of %d numbers in %d bytes, want %d words", ErrFormat, n, dimension, len(rest),
			words)
	}
	s := &Sentences{dimension: dimension, numbers: make([]int8, n*dimension), factors: make([]float32, n)}
	for i, b := range rest[4*n:] {
		s.numbers[i] = int8(b) //nolint:gosec // two's complement, as written
	}
	for i := range s.factors {
		length := math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
		if !(length >= 0 && length < 1e6) { // NaN, too
			return nil, fmt.Errorf("%w: word %d has length %v", ErrFormat, i, length)
		}
		s.factors[i] = length * inverse(s.row(int32(i))) //nolint:gosec // bounded by the length of raw
	}
	return s, nil
}

func (s *Sentences) row(word int32) []int8 {
	return s.numbers[int(word)*s.dimension : (int(word)+1)*s.dimension]
}

// Dimension is the length of the vectors.
func (s *Sentences) Dimension() int { return s.dimension }

// Add adds the contribution of a word of the shipped Table, by its number, times weight, to sum. The slice sum has
// Dimension numbers.
func (s *Sentences) Add(sum []float32, word int32, weight float32) {
	weight *= s.factors[word]
	for i, x := range s.row(word) {
		sum[i] += weight * float32(x)
	}
}
