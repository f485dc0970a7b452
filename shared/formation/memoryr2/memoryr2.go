// Package memoryr2 forms memory as Memory-R2 does (its appendix B): an extractor writes atomic facts with the turns they come from,
// and a manager holds each against the few memories of the same speaker that are near to it and inserts, updates, deletes or
// leaves alone, asked in the order contradiction, equivalent, refinement, new. Facts are monotonic: an update keeps every claim
// of what it replaces, and one that drops a name, a number or a date is refused (Dropped).
package memoryr2

// Name is the strategy's name.
const Name = "memory-r2"

// What a manager's call sees. The first three are the paper's.
const (
	// relatedEach is how many memories a fact is held against: the nearest of those of its speaker among formation.MaxNeighbours.
	relatedEach = 5
	// leastSimilarity is the cosine from which a memory is related to a fact.
	leastSimilarity = 0.1
	// relatedOverall is how many memories one call is shown.
	relatedOverall = 25
	// factsPerCall is how many facts one call decides on. More are decided in groups, in order: each group sees what the ones before it
	// wrote, and no longer what they closed, so that the groups amount to one long list.
	factsPerCall = 40
)

// chunkCharacters is how much text one call of the extractor sees, in characters. A session of sixty turns of ordinary length fits; the
// chunks of a longer one are extracted at the same time, at most chunksAtOnce of them.
const (
	chunkCharacters = 24_000
	chunksAtOnce    = 4
)
