package ranking

import "math"

const (
	// Related is the score by the shared prior from which a found memory more likely belongs to the query than to
	// something else. It was chosen on questions for another conversation (docs/recall.md).
	Related = 5.25
	// oddsPerScore is the change of the log odds with the score, as in the shipped model of relevance.
	oddsPerScore = 2.2575147
)

// Likelihood is the approximate chance, 0 to 1, that a memory with this score belongs to the query. It is measured for
// scores of the shared prior. Weights that a tenant learned change the scores, and Spread lowers a score for better
// candidates of the same session.
func Likelihood(score float64) float64 { return 1 / (1 + math.Exp(-oddsPerScore*(score-Related))) }
