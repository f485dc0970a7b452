package text

import "math"

// BM25 scores how well a document answers a word, from counts alone. K1 says how much repetitions count, B how much length is held
// against a document.
type BM25 struct{ K1, B float64 }

// Weight is what a document gets for a word that it has so often; length is its own as a share of the mean length.
func (p BM25) Weight(count, length float64) float64 {
	return count * (p.K1 + 1) / (count + p.K1*(1-p.B+p.B*length))
}

// InverseFrequency is how much a word tells that so many of all documents have: much where few do.
func InverseFrequency(holders, documents int) float64 {
	return math.Log1p((float64(documents-holders) + 0.5) / (float64(holders) + 0.5))
}
