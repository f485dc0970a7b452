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

// Sentences has what each word of the shipped [Table] adds to the vector of a text. These vectors are fitted so that their sums point
// where a sentence encoder puts the texts (distill_sentences.py), so texts are near that are about like things; those of the Table are of
// the words alone, and words are near that mean alike. A word that tells much of what a text is about has a longer vector. It is safe for
// concurrent use.
type Sentences struct {
	dimension int
	numbers   []int8
	// factors has what makes each row as long as its word counts, 1 on average.
	factors []float32
}

// ShippedSentences returns the table of this package, which is made once, and shared.
func ShippedSentences() *Sentences { return sentences() }

var sentences = sync.OnceValue(func() *Sentences {
	s, err := ParseSentences(shippedSentences, Shipped().Len())
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return s
})

// ParseSentences reads what so many words add; distill_sentences.py says how it is written. What is not that is an ErrFormat.
func ParseSentences(raw []byte, words int) (*Sentences, error) {
	const header = len(sentenceMagic) + 8
	if len(raw) < header || string(raw[:len(sentenceMagic)]) != sentenceMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q and two numbers", ErrFormat, sentenceMagic)
	}
	n, dimension := int(binary.LittleEndian.Uint32(raw[4:])), int(binary.LittleEndian.Uint32(raw[8:]))
	rest := raw[header:]
	if n != words || dimension < 1 || dimension > 4096 || len(rest) != n*(4+dimension) {
		return nil, fmt.Errorf("%w: %d words of %d numbers in %d bytes, want %d words", ErrFormat, n, dimension, len(rest), words)
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

// Add adds what a word of the shipped Table, by its number, says of a text, times weight, to sum, which has Dimension numbers.
func (s *Sentences) Add(sum []float32, word int32, weight float32) {
	weight *= s.factors[word]
	for i, x := range s.row(word) {
		sum[i] += weight * float32(x)
	}
}
