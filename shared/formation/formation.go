// Package formation is the port to the policies that form memory offline: which turns are
// salient, what they say, and what that does to the bank. A policy decides; it writes
// nothing.
package formation

import (
	"context"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Decision is a filter's verdict on one turn.
type Decision struct {
	// Salient is whether the turn is worth remembering.
	Salient bool `json:"salient"`
	// Score is the confidence, 0 to 1.
	Score float64 `json:"score"`
	// Threshold is what the score was held against, 0 to 1.
	Threshold float64 `json:"threshold"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
}

// Filter is the attentional gate (SaliMory, selective attention). A missed salient turn is
// worse than an extra one.
type Filter interface {
	// Filter returns one decision per turn, in order, or an error and none. All turns are of one user, in
	// order of arrival.
	Filter(ctx context.Context, scope memory.Scope, turns []memory.Turn) ([]Decision, error)
}

// Former is one strategy's way of forming memory under one policy. Implementations are safe
// for concurrent use and keep no state of a user.
type Former interface {
	// Extract returns what the salient turns of one session say, in order of their first source. An empty result means
	// that nothing was said worth keeping; a failure is an error, never an empty result.
	Extract(ctx context.Context, in Session) ([]Candidate, error)
	// Decide returns what the candidates do to the bank: operations in the order they are to be
	// applied, with the new entries complete but for version and vector. Every candidate
	// is in the sources of at least one operation (NONE included), and targets are related memories, or
	// entries that an earlier operation of the same list writes.
	Decide(ctx context.Context, in Bundle) ([]memory.Operation, error)
	// Version is name and version of strategy and policy, kept with what they write.
	Version() string
}

// Session is the salient turns of one session that wait for consolidation, in order of time.
type Session struct {
	Scope memory.Scope  `json:"scope"`
	ID    string        `json:"id"`
	Turns []memory.Turn `json:"turns"`
}

// Candidate is something the turns say, before it is held against the bank.
type Candidate struct {
	// Kind is what it is about.
	Kind memory.Kind `json:"kind"`
	// Content is a self-contained statement in the third person.
	Content string `json:"content"`
	// Topic is one or two words.
	Topic string `json:"topic,omitempty"`
	// Slot is as in memory.Memory.
	Slot string `json:"slot,omitempty"`
	// Keywords are search words beside the content.
	Keywords []string `json:"keywords,omitempty"`
	// EventTime is when it happened.
	EventTime memory.EventTime `json:"event_time,omitzero"`
	// Negates says that the statement denies something said before ("no longer plays tennis").
	Negates bool `json:"negates,omitempty"`
	// Sources are the turns it comes from; at least one of the session.
	Sources []string `json:"sources"`
	// Vector is the embedding of Content; the extracting activity fills it in.
	Vector memory.Vector `json:"vector,omitempty"`
}

// Related is a candidate with the entries of the user's bank that are near to it.
type Related struct {
	Candidate Candidate `json:"candidate"`
	// Memories are active entries, nearest first; at most 20. They carry no vectors.
	Memories []memory.Memory `json:"memories,omitempty"`
	// Similarity is the cosine of the candidate's vector and that of the entry at the same place in
	// Memories, -1 to 1.
	Similarity []float64 `json:"similarity,omitempty"`
}

// Bundle is what Decide decides on.
type Bundle struct {
	Session Session   `json:"session"`
	Related []Related `json:"related"`
}
