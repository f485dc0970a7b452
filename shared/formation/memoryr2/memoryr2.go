// Package memoryr2 forms memory as Memory-R2 does (its appendix B). An extractor writes atomic facts with their source
// turns. A manager compares each fact with the few nearest memories of the same speaker. It inserts, updates, deletes
// or leaves them alone. The checks have this order: contradiction, equivalent, refinement, new. Facts are monotonic: an
// update keeps every claim of the replaced entry. An update that drops a name, a number or a date is refused (Dropped).
package memoryr2

// Name is the strategy's name.
const Name = "memory-r2"

// Limits of a manager's call. The first three are the paper's.
const (
	// relatedEach is the most memories to compare with a fact: the nearest ones of its speaker among
	// formation.MaxNeighbours.
	relatedEach = 5
	// leastSimilarity is the cosine from which a memory is related to a fact.
	leastSimilarity = 0.1
	// relatedOverall is how many memories one call is shown.
	relatedOverall = 25
	// factsPerCall is the most facts of one call. More facts are decided in groups, in order. Each group sees the
	// entries of the groups before it, without the closed ones, so that the result equals one long list.
	factsPerCall = 40
)

// chunkCharacters is the most text of one extractor call, in characters. A session of sixty turns of ordinary length
// fits. The chunks of a longer one are extracted in parallel, at most chunksAtOnce of them.
const (
	chunkCharacters = 24_000
	chunksAtOnce    = 4
)
