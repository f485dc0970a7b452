// Package features turns a query and a user's memories into numbers that measure how well they match: the features of
// the reranker (docs/decisions/0008). They are computed over all of the user's data at once, because much of the
// evidence for an answer is around it. Examples are the speaker, the words just before, the session's subject, and the
// time. The package is pure and uses no store.
package features

import (
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
)

// FeatureSet is name and version of the features; it changes with any change of their meaning.
const FeatureSet = "features/3"

// The features, in their order.
const (
	words           = iota // BM25 of the query against statements and raw dialogue
	statement              // BM25 against the statements alone
	coverage               // share of the query's words, by their weight, that occur; names of speakers left out
	concepts               // BM25 of the concepts that the words belong to
	meaning                // how near the texts are as a whole, by the directions of their words' sums
	nearWords              // how near the nearest word is to each word of the query
	spokenBy               // the one the query names said it
	spokenByOther          // somebody else did
	saidThen               // its turn is from about the time that the query names
	happenedThen           // it happened at that time
	tellsTime              // the query asks when, and it has words of time
	hasEvent               // the query asks when, and its event is dated
	length                 // words of the raw dialogue, logarithm
	asks                   // it is a question itself
	before2                // how well the turn two before answers
	before1                // the turn before
	after1                 // the turn after
	after2                 // two after
	session                // BM25 of the query against the whole session, relative to the best session
	sessionBest            // the best others of the session
	recency                // 0 for the oldest of the user, 1 for the newest
	closed                 // it no longer holds
	similarity             // cosine of the embeddings, once more: how far it can be relied on depends on the embedder
	topical                // BM25 of the query without the names of speakers
	dialogue               // the same against the raw dialogue alone
	relative               // topical, relative to the unit that has most of it
	opens                  // it opens its session
	rare                   // how rare its words are for this user
	names                  // it names something or somebody, but the speakers
	fact                   // the share of its memories that are facts, rather than events or preferences
	tellsNumber            // the query asks for an amount, and it has a number
	tellsName              // the query asks for somebody, some place or a name, and it names one
	head                   // how near its nearest words are to the sort of thing that is asked for
	nearAround             // near_words of it and the turns beside it together
	focus                  // how near its own words are to the query, each to the nearest
	answers                // the turn before is a question, and this near to the query by its words
	around                 // meaning, of it and the turns beside it together
	apart                  // meaning, without what all of the user's turns have in common
	sessionLead            // session, with only the best of them counting
	standing               // how likely later requests have to respect the statement
	requestStanding        // standing, if a user asks an assistant, and names no speaker
	requestSession         // session, likewise
	requestMeaning         // meaning, likewise
	requestTopical         // topical, likewise
	requestRecency         // recency, likewise
	requestLength          // length, likewise
	featureCount
)

// Names returns the features' names, in their order.
func Names() []string {
	return []string{
		"words", "statement", "coverage", "concepts", "meaning", "near_words", "spoken_by", "spoken_by_other", "said_then", "happened_then",
		"tells_time", "has_event", "length", "asks", "before_2", "before_1", "after_1", "after_2", "session", "session_best", "recency",
		"closed", "similarity", "topical", "dialogue", "relative", "opens", "rare", "names", "fact", "tells_number", "tells_name", "head",
		"near_around", "focus", "answers", "around", "apart", "session_lead",
		"standing", "request_standing", "request_session", "request_meaning", "request_topical", "request_recency", "request_length",
	}
}

// Query is an understood query with its vector.
type Query struct {
	query.Query
	// Vector is the embedding of the query, or nil without one.
	Vector []float32
	// Past lets memories answer that are no longer valid.
	Past bool
	// Match selects the memories that may be candidates; nil selects all. The others count as context.
	Match func(memory.Memory) bool
	// Standing are the ids of memories that are shown in any case.
	Standing []string
}

// Stands is the probability, 0 to 1, that later requests must respect the statement.
func (c Candidate) Stands() float64 { return float64(c.Features[standing]) }

// Candidate is a memory with its features.
type Candidate struct {
	Memory memory.Memory
	// Features are in the order of Names.
	Features []float32
	// Group is the same, above 0, for candidates of one session where the query needs several things; 0 where it
	// needs one.
	Group uint32
	// Cosine of the embeddings of query and memory; 0 where one is not known.
	Cosine float32
	// Siblings are memories of the same turn and standing, with the rest of its content: they are shown or left out
	// together. Memory is the best answer among them.
	Siblings []memory.Memory
	// Turns are the known source turns of Memory, in order of time.
	Turns []memory.Turn
}
