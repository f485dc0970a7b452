package builtin

import (
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Weights of the kinds of features. They are chosen by hand, on sentences written for it and on the order of public
// dialogues.
const (
	stopWeight    = 0.05
	commonWeight  = 0.5
	wordWeight    = 1.0
	numberWeight  = 1.0
	bigramWeight  = 0.2
	gramsWeight   = 0.5
	conceptWeight = 1.0
	minGram       = 3
	maxGram       = 5
)

// Kinds of features. The same letters as a word and as a gram are different features.
const (
	kindWord    uint64 = 0x9e3779b97f4a7c15
	kindBigram  uint64 = 0x3c6ef372fe94f82b
	kindGram    uint64 = 0xdaa66d2c7ddf743f
	kindConcept uint64 = 0x78dde6e5fd29f057
)

// term is a distinct word of a text.
type term struct {
	stem   string
	weight float64
	count  int
}

// sums collects the weighted features of one text. Additions follow the order of the text and are never fused with
// products. So every machine gets the same bits.
type sums [Dimension]float64

// add puts a feature into two places, each with a separate sign. Two features rarely meet in both places, which
// halves the effect of a collision.
func (s *sums) add(hash uint64, weight float64) {
	hash = mix(hash)
	weight = float64(weight * (1 / math.Sqrt2))
	s.addHalf(uint32(hash), weight)
	s.addHalf(uint32(hash>>32), weight)
}

// addHalf uses the low bits for the place and the highest for the sign.
func (s *sums) addHalf(half uint32, weight float64) {
	if half>>31 == 1 {
		weight = -weight
	}
	s[half%Dimension] += weight
}

// unit returns the sums at length one, or zeros for an empty text.
func (s *sums) unit() []float32 {
	out := make([]float32, Dimension)
	var square float64
	for _, x := range s {
		square += float64(x * x)
	}
	if square == 0 {
		return out
	}
	length := math.Sqrt(square)
	for i, x := range s {
		out[i] = float32(x / length)
	}
	return out
}

// grams adds the character n-grams of a word with its boundaries marked. Their total weight is weight, whatever
// their number.
func (s *sums) grams(word string, weight float64) {
	padded := "<" + word + ">"
	starts := make([]int, 0, 64)
	for i := range padded {
		starts = append(starts, i)
	}
	starts = append(starts, len(padded))
	runes := len(starts) - 1
	total := 0
	for n := minGram; n <= maxGram && n <= runes; n++ {
		total += runes - n + 1
	}
	if total == 0 {
		return
	}
	each := weight / math.Sqrt(float64(total))
	for n := minGram; n <= maxGram && n <= runes; n++ {
		for i := 0; i+n <= runes; i++ {
			s.add(xxhash.Sum64String(padded[starts[i]:starts[i+n]])^kindGram, each)
		}
	}
}

// run adds a stretch of a script without spaces: its characters and pairs of characters.
func (s *sums) run(text string, weight float64) {
	previous := 0
	for i, r := range text {
		size := utf8.RuneLen(r)
		s.add(xxhash.Sum64String(text[i:i+size])^kindWord, float64(0.5*weight))
		if i > 0 {
			s.add(xxhash.Sum64String(text[previous:i+size])^kindBigram, weight)
		}
		previous = i
	}
}

// mix spreads the bits of a hash (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pair is the hash of two words in order.
func pair(first, second string) uint64 {
	return bits.RotateLeft64(xxhash.Sum64String(first), 17) ^ xxhash.Sum64String(second) ^ kindBigram
}
