// Package features turns a query and a user's memories into numbers that measure how well they match: the features of
// the reranker (docs/decisions/0008). They are computed over all of the user's data at once, because much of the
// evidence for an answer is around it. Examples are the speaker, the words just before, the session's subject, and the
// time. The package is pure and uses no store.
package features

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// FeatureSet is name and version of the features; it changes with any change of their meaning.
const FeatureSet = "features/4"

// The numbers of a unit for a query.
const (
	constant      = iota // 1: its weight sets the level of a regime's scores
	statement            // BM25 of the query, without the names of speakers, against the statements alone
	coverage             // share of the query's words, by their weight, that occur; names of speakers left out
	meaning              // how near the texts are as a whole, by the directions of their words' sums
	nearWords            // how near the nearest word is to each word of the query
	spokenBy             // the one the query names said it
	spokenByOther        // somebody else did
	saidThen             // its turn is from about the time that the query names
	happenedThen         // it happened at that time
	tellsTime            // the query asks when, and it has words of time
	hasEvent             // the query asks when, and its event is dated
	length               // words of the raw dialogue, logarithm
	asks                 // it is a question itself
	session              // BM25 of the query against the whole session, relative to the best session
	sessionBest          // the best others of the session
	sessionLead          // session, with only the best of them counting
	recency              // 0 for the oldest of the user, 1 for the newest
	similarity           // cosine of the embeddings, once more: how far it can be relied on depends on the embedder
	topical              // BM25 of the query against statements and raw dialogue, without the names of speakers
	dialogue             // the same against the raw dialogue alone
	relative             // topical, relative to the unit that has most of it
	opens                // it opens its session
	rare                 // how rare its words are for this user
	names                // it names something or somebody, but the speakers
	fact                 // the share of its memories that are facts, rather than events or preferences
	tellsNumber          // the query asks for an amount, and it has a number
	tellsName            // the query asks for somebody, some place or a name, and it names one
	head                 // how near its nearest words are to the sort of thing that is asked for
	nearAround           // near_words of it and the turns beside it together
	focus                // how near its own words are to the query, each to the nearest
	answers              // the turn before is a question, and this near to the query by its words
	around               // meaning, of it and the turns beside it together
	apart                // meaning, without what all of the user's turns have in common
	standing             // how likely later requests have to respect the statement
	reply                // an assistant said it
	replyAsked           // the same, if the query asks for something that the assistant said
	replyToUser          // the same, if the user speaks of themselves
	talk                 // none of its memories is more than talk
	numberCount
)

var numberNames = [numberCount]string{
	"constant", "statement", "coverage", "meaning", "near_words", "spoken_by", "spoken_by_other", "said_then",
	"happened_then", "tells_time", "has_event", "length", "asks", "session", "session_best", "session_lead",
	"recency", "similarity", "topical", "dialogue", "relative", "opens", "rare", "names", "fact", "tells_number",
	"tells_name", "head", "near_around", "focus", "answers", "around", "apart", "standing", "reply", "reply_asked",
	"reply_to_user", "talk",
}

// Regime is a kind of query with weights of its own.
type Regime int

// The regimes.
const (
	// Companions are queries about the talk of several people, or of unknown people.
	Companions Regime = iota
	// Questions are questions of an assistant's one user for facts, and statements to search for.
	Questions
	// Requests are an assistant's tasks for its one user. A fact that a request needs is often mentioned in passing,
	// in sessions about another subject.
	Requests
	regimeCount
)

// Regimes are all regimes, in the order of their features.
func Regimes() []Regime { return []Regime{Companions, Questions, Requests} }

// String is the beginning of the names of the regime's features.
func (r Regime) String() string { return [...]string{"companions", "questions", "requests"}[r] }

// unused are the numbers that a regime does without. A model that learned them on some kinds of talk was worse on the
// kinds that it had not seen (docs/reranker-model-card.md).
var unused = [regimeCount][]int{
	Questions: {spokenBy, spokenByOther, asks, session, relative, opens, tellsNumber, nearAround, standing},
	Requests:  {spokenBy, spokenByOther, asks, session, relative, opens, tellsNumber},
}

// used has the numbers of each regime's features, and starts the place of its first feature.
var used, starts = func() (used [regimeCount][]int, starts [regimeCount + 1]int) {
	for r := range regimeCount {
		for n := range numberCount {
			if !slices.Contains(unused[r], n) {
				used[r] = append(used[r], n)
			}
		}
		starts[r+1] = starts[r] + len(used[r])
	}
	return used, starts
}()

// Names returns the features' names, in their order: the numbers that each regime uses, behind its name.
func Names() []string {
	var out []string
	for _, r := range Regimes() {
		for _, n := range used[r] {
			out = append(out, r.String()+"_"+numberNames[n])
		}
	}
	return out
}

// Span returns the places of a regime's features in the order of Names: from first up to end, without end.
func (r Regime) Span() (first, end int) { return starts[r], starts[r+1] }

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
func (c Candidate) Stands() float64 { return float64(c.number(standing)) }

// number returns a number of the candidate's unit. A candidate that no index made has 0.
func (c Candidate) number(n int) float32 {
	if c.numbers == nil {
		return 0
	}
	return c.numbers[n]
}

// Likeness is how much the unit and the query have in common, by their words and by their meaning.
func (c Candidate) Likeness() float32 { return c.number(topical) + c.number(meaning) }

// FeaturesAs returns the features as a query of another regime would have them.
func (c Candidate) FeaturesAs(r Regime) []float32 {
	out := make([]float32, starts[regimeCount])
	for k, n := range used[r] {
		out[starts[r]+k] = c.number(n)
	}
	return out
}

// Candidate is a memory with its features.
type Candidate struct {
	Memory memory.Memory
	// Features are in the order of Names. All but the features of the query's regime are 0.
	Features []float32
	// Regime is the regime of the query.
	Regime Regime
	// numbers are all numbers of the unit.
	numbers []float32
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

//go:embed prior.json
var prior []byte

// Prior returns the initial weights of all tenants. They are trained on made-up conversations by `mneme-lab train
// reranker`. See docs/reranker-model-card.md.
func Prior() (ranking.Prior, error) {
	p, err := ranking.DecodePrior(prior, FeatureSet, Names())
	if err != nil {
		return p, fmt.Errorf("shipped prior: %w", err)
	}
	return p, nil
}
