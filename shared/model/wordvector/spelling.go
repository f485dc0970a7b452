package wordvector

import (
	"hash/fnv"
	"math"
)

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
