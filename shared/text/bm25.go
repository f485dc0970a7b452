package text

import "math"

// BM25 scores how well a document answers a word, from counts alone. K1 says how much repetitions count, B how much
// length is held against a document.
type BM25 struct{ K1, B float64 }

// Weight returns the score of a document for a word with this count. length is the document's length relative to
// the mean length.
func (p BM25) Weight(count, length float64) float64 {
	return count * (p.K1 + 1) / (count + p.K1*(1-p.B+p.B*length))
}

// TermCounts is a document as BM25 sees it.
type TermCounts struct {
	Counts map[string]int
	Length int
}

// CountTerms counts the terms of a document.
func CountTerms(terms []string) TermCounts {
	d := TermCounts{Counts: map[string]int{}, Length: len(terms)}
	for _, t := range terms {
		d.Counts[t]++
	}
	return d
}

// Scores returns the score of each document for the terms of a query. The score is 0 for a document without any of
// the terms.
func (p BM25) Scores(query []string, documents []TermCounts) []float64 {
	total := 0
	for _, d := range documents {
		total += d.Length
	}
	mean := float64(total) / float64(max(1, len(documents)))
	scores := make([]float64, len(documents))
	for _, t := range query {
		holders := 0
		for _, d := range documents {
			if d.Counts[t] > 0 {
				holders++
			}
		}
		idf := InverseFrequency(holders, len(documents))
		for i, d := range documents {
			if n := d.Counts[t]; n > 0 {
				scores[i] += idf * p.Weight(float64(n), float64(d.Length)/mean)
			}
		}
	}
	return scores
}

// InverseFrequency returns the weight of a word by its document frequency. The weight is high for a rare word.
func InverseFrequency(holders, documents int) float64 {
	return math.Log1p((float64(documents-holders) + 0.5) / (float64(holders) + 0.5))
}
