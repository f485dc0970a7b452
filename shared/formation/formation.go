// Package formation is the port to the policies that form memory offline. A policy selects the salient turns, extracts
// their statements, and decides their effect on the bank. It only decides, and writes no data.
package formation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/formation/forget"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Filter is the attentional gate (SaliMory, selective attention). A missed salient turn is worse than an extra one.
type Filter interface {
	// Filter returns one decision per turn, in order, or an error and none. All turns are of one user, in
	// order of arrival. Turns before them, of the same sessions, help to read them: a "yes" needs its question. None is
	// decided on.
	Filter(ctx context.Context, scope memory.Scope, turns, before []memory.Turn) ([]memory.SaliencyDecision, error)
}

// Former is one strategy's way of forming memory under one policy. Implementations are safe
// for concurrent use and keep no state of a user.
//
// A session passes Extract once and then Decide, with a search of the bank between them. A former that needs another
// search returns Lookups from Decide. Decide is then called once more with the results.
type Former interface {
	// Extract returns the statements of one session's salient turns, in order of their first source. An empty result
	// means that no statement is worth keeping; a failure is an error, never an empty result. A strategy that needs
	// the bank first returns its search texts.
	Extract(ctx context.Context, in Session) ([]Candidate, error)
	// Decide returns the session's effect on the bank, or the lookups that it needs first. Where candidates are
	// statements, every one is in the sources of at least one operation (NONE included).
	Decide(ctx context.Context, in Bundle) (Verdict, error)
	// Version returns name and version of strategy and policy, stored with their entries.
	Version() string
}

// Reader is a former that reads entries of the bank before it extracts. It then uses the bank's names for the user's
// people and things, and can resolve "it" or "the 28th".
type Reader interface {
	Former
	// Reads is how many entries of the bank Extract is given as Session.Known, at most.
	Reads() int
}

// Session is the turns of one session that wait for consolidation, in order of time.
type Session struct {
	Scope memory.Scope  `json:"scope"`
	ID    string        `json:"id"`
	Turns []memory.Turn `json:"turns"`
	// Context are turns of the session that are not formed, in order of time: a gate dropped them. A former may read
	// them to understand the other turns. They are never a source.
	Context []memory.Turn `json:"context,omitempty"`
	// Known are entries of the bank near to the turns, for a Reader: nearest first, without vectors. Like context they are
	// never the source of anything.
	Known []memory.Memory `json:"known,omitempty"`
}

// Around returns the context of the turns from first to end. It begins after the turn before them, and ends before the
// turn after them.
func (s Session) Around(first, end int) []memory.Turn {
	var out []memory.Turn
	for _, t := range s.Context {
		before := first > 0 && t.Compare(s.Turns[first-1]) < 0
		behind := end < len(s.Turns) && t.Compare(s.Turns[end]) > 0
		if !before && !behind {
			out = append(out, t)
		}
	}
	return out
}

// Passing is a turn with statements of the moment only: working memory has it, and the bank does not need it.
type Passing struct {
	// TurnID is a turn of the session.
	TurnID string `json:"turn_id"`
	// Until is up to when it matters.
	Until time.Time `json:"until"`
}

// Positions returns the place of each turn in the session, by its id.
func (s Session) Positions() map[string]int {
	out := make(map[string]int, len(s.Turns))
	for i, t := range s.Turns {
		out[t.ID] = i
	}
	return out
}

// Candidate is something the turns say, before it is held against the bank.
type Candidate struct {
	// Kind is the kind of the statement.
	Kind memory.Kind `json:"kind"`
	// Tier is the tier of the entry that the candidate becomes.
	Tier memory.Tier `json:"tier,omitempty"`
	// Content is as in memory.Memory: a statement in the third person, or the words of Speaker.
	Content string `json:"content"`
	// Speaker is as in memory.Memory.
	Speaker string `json:"speaker,omitempty"`
	// Topic is one or two words.
	Topic string `json:"topic,omitempty"`
	// Slot is as in memory.Memory.
	Slot string `json:"slot,omitempty"`
	// Keywords are search words in addition to the content.
	Keywords []string `json:"keywords,omitempty"`
	// EventTime is when it happened.
	EventTime memory.EventTime `json:"event_time,omitzero"`
	// Negates says that the statement denies something said before ("no longer plays tennis").
	Negates bool `json:"negates,omitempty"`
	// Working reports a statement of the moment only. Working memory holds the turn for a while, and the bank does not
	// need it.
	Working bool `json:"working,omitempty"`
	// Sources are the turns it comes from; at least one of the session.
	Sources []string `json:"sources"`
	// Ordinal is the candidate's place among the session's candidates with the same sources, from 0. The sources and
	// the ordinal make the id of the entry (memory.DeriveID), so that candidates can be decided in any order. Number
	// sets it.
	Ordinal int `json:"ordinal,omitempty"`
	// Neighbours is the number of entries to compare with the candidate. 0 means MaxNeighbours, and NoNeighbours means
	// no entry. SharedNeighbours means as many as 0, from the searches for the session's other candidates.
	Neighbours int `json:"neighbours,omitempty"`
	// Vector is the embedding of Content; the extracting activity fills it in.
	Vector memory.Vector `json:"vector,omitempty"`
	// Quarantine is the reason to quarantine the candidate's entries. It is empty for a candidate that does not look
	// like an attack.
	Quarantine string `json:"quarantine,omitempty"`
	// Forgets is the user's request to forget, for a candidate that only finds the entries that the request names.
	Forgets *forget.Request `json:"forgets,omitempty"`
	// Fault describes an error of the policy's output for Sources. If it is not empty, there is no candidate.
	// It contains no conversation text.
	Fault string `json:"fault,omitempty"`
}

// How many entries a candidate or lookup is held against.
const (
	MaxNeighbours    = 20
	NoNeighbours     = -1
	SharedNeighbours = -2
)

// Number sets the candidates' ordinals.
func Number(candidates []Candidate) {
	next := map[string]int{}
	for i := range candidates {
		sources := slices.Clone(candidates[i].Sources)
		slices.Sort(sources)
		key := strings.Join(slices.Compact(sources), "\x00")
		candidates[i].Ordinal = next[key]
		next[key]++
	}
}

// SpeakerStems returns the stems of the speakers' names. Like stop words, they hardly distinguish statements.
func SpeakerStems(turns []memory.Turn) map[string]bool {
	var names strings.Builder
	for _, t := range turns {
		names.WriteString(t.Speaker + " ")
	}
	return text.StemSet(names.String())
}

// Related is a candidate with the entries of the user's bank that are near to it.
type Related struct {
	Candidate Candidate `json:"candidate"`
	// Memories are active entries, nearest first; at most 20. They carry no vectors.
	Memories []memory.Memory `json:"memories,omitempty"`
	// Similarity is the cosine of the candidate's vector and the vector of the entry at the same place in Memories, -1
	// to 1.
	Similarity []float64 `json:"similarity,omitempty"`
}

// Bundle is what Decide decides on.
type Bundle struct {
	Session Session   `json:"session"`
	Related []Related `json:"related"`
	// Core is the user's core block as it is, where the strategy writes it (tenant.Strategy.WritesCore).
	Core memory.Core `json:"core,omitzero"`
	// Window is what of working memory W has been consolidated, oldest first.
	Window []memory.Turn `json:"window,omitempty"`
	// Found has the results of each of the last verdict's lookups, in their order; nil at the first call of Decide.
	Found []Found `json:"found,omitempty"`
	// Memo is the last verdict's memo.
	Memo json.RawMessage `json:"memo,omitempty"`
}

// Lookup is a search in the user's bank that a former wants made.
type Lookup struct {
	// Text is the search text.
	Text string `json:"text"`
	// K is how many entries are wanted; 0 means MaxNeighbours.
	K int `json:"k,omitempty"`
	// Vector is the embedding of Text; the deciding activity fills it in.
	Vector memory.Vector `json:"vector,omitempty"`
}

// Found has the results of a lookup.
type Found struct {
	// Memories are active entries, nearest first, without vectors.
	Memories []memory.Memory `json:"memories,omitempty"`
	// Similarity is the cosine of the lookup's vector and the vector of the entry at the same place, -1 to 1.
	Similarity []float64 `json:"similarity,omitempty"`
}

// Failure is something that turns say and that a policy could not deal with, whatever it did with the rest.
type Failure struct {
	// Sources are the turns, at least one of the session.
	Sources []string `json:"sources"`
	// Reason describes the failure for operators; it contains no conversation text.
	Reason string `json:"reason"`
}

// Verdict is a former's decision on a session, or, when it has Lookups, the searches that the former needs before it
// decides.
type Verdict struct {
	// Operations are in the order they are to be applied, with the new entries complete but for version and vector.
	// Targets are memories that the former was shown, or entries that an earlier operation of the list writes.
	Operations []memory.Operation `json:"operations,omitempty"`
	// Core are the operations on the core block, in their order.
	Core []memory.CoreOperation `json:"core,omitempty"`
	// Passing are turns of the session that working memory has to hold for a while.
	Passing []Passing `json:"passing,omitempty"`
	// Retire are turns that working memory should no longer show, in addition to the sources of closed entries.
	Retire []string `json:"retire,omitempty"`
	// Failed are candidates that nothing could be decided on, although something was on others.
	Failed []Failure `json:"failed,omitempty"`
	// Lookups ask for more; the rest of the verdict but Memo must be empty then.
	Lookups []Lookup `json:"lookups,omitempty"`
	// Memo is returned to the former together with the lookups' results. It may hold conversation text: it is kept in
	// the workflow's history only.
	Memo json.RawMessage `json:"memo,omitempty"`
}

// Touched returns the entries and turns of the verdict's operations.
func (v Verdict) Touched(scope memory.Scope) memory.Touch { return memory.Touched(scope, v.Operations) }

// Division says which steps of a former may be given a session in parts.
type Division struct {
	// Extract means that a turn's statements depend at most on the turns shortly before it and on the other speakers
	// of the session. Parts of a session, each with such context, then give all statements of the session.
	Extract bool
	// Decide says that candidates which have nothing to do with each other can be decided apart, in any order. The former
	// neither looks anything up nor keeps a core block.
	Decide bool
}

// Divisible is a former whose work on a long session can be divided; package parallel does so. Other formers get every
// session as a whole.
type Divisible interface {
	Former
	// Division says what can be divided.
	Division() Division
}
