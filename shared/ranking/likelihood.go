package ranking

import "math"

const (
	// Related is the score by the shared prior from which a found memory more likely belongs to the query than to
	// something else. It was chosen on questions for another conversation (docs/recall.md).
	Related = 5.25
	// oddsPerScore is the change of the log odds with the score, as in the shipped model of relevance.
	oddsPerScore = 1.97765
)

// Likelihood is the chance, 0 to 1, that a memory with this score belongs to the query. It does not depend on the
// other candidates.
func Likelihood(score float64) float64 { return 1 / (1 + math.Exp(-oddsPerScore*(score-Related))) }
