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
	"hash/fnv"
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

// longestSpelling bounds the characters read of a term.
const longestSpelling = 32

// Spell adds a vector for a term outside the table, times weight, to sum. Its sources are the parts of three and
// four characters, a short term as a whole, and the beginning of the term. So words with similar spelling are near,
// such as words of one family. The method is subword n-grams (Bojanowski et al., 2017), hashed (Weinberger et al.,
// 2009) and not learned. The vector has length 1.
func Spell(sum []float32, term string, weight float32) {
	r := []rune(term)
	r = r[:min(len(r), longestSpelling)]
	v := make([]float32, len(sum))
	add := func(part string, by float32) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(part)) // it never fails
		for bits, k := h.Sum64(), 0; k < placesPerPart; k++ {
			sign := float32(1)
			if bits&1 == 1 {
				sign = -1
			}
			v[(bits>>1)%uint64(len(v))] += sign * by
			bits = bits*0x9e3779b97f4a7c15 ^ bits>>29
		}
	}
	shortest := 1
	if len(r) > 3 {
		shortest = 3
	}
	for n := shortest; n <= 4; n++ {
		for i := 0; i+n <= len(r); i++ {
			add(string(r[i:i+n]), 1)
		}
	}
	add("^"+string(r[:min(len(r), 3)]), 1)
	square := 0.0
	for _, a := range v {
		square += float64(a) * float64(a)
	}
	if square == 0 {
		return
	}
	by := weight / float32(math.Sqrt(square))
	for i, a := range v {
		sum[i] += a * by
	}
}

// placesPerPart is the number of places of the vector that a part changes. Two parts that share one place differ in
// the others.
const placesPerPart = 3
