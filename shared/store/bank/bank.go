// Package bank is the port to the store of memories: what a back-end must do, for every
// user alone. Package banktest holds the conformance suite that every back-end passes.
package bank

import (
	"context"
	"errors"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Errors of the port. Anything else a back-end returns is retryable.
var (
	// ErrNotFound says that the user has no such entry. That another user or tenant may have
	// it makes no difference.
	ErrNotFound = errors.New("memory not found")
	// ErrSeveralOwners says that more than one user of the tenant has the entry.
	ErrSeveralOwners = errors.New("several users have the memory")
	// ErrEmbeddingMismatch says that the store was filled with another embedding model or
	// dimension than the service is configured with.
	ErrEmbeddingMismatch = errors.New("embedding mismatch")
)

// Bank stores the memories of all users. Implementations are safe for concurrent use;
// writes of one user come from one writer at a time. A user nobody has written to is empty,
// not an error.
type Bank interface {
	// Write applies a Write. It is idempotent: an entry that exists is left as it is, a
	// closed entry stays closed, a released one stays released, and a session record formed before the one kept is passed over.
	// When it returns nil, reads see all of it. When it fails, part of it may have been written;
	// the caller repeats it.
	Write(ctx context.Context, scope memory.Scope, w memory.Write) error
	// Get returns an entry, or ErrNotFound.
	Get(ctx context.Context, scope memory.Scope, id string) (memory.Memory, error)
	// List returns a page of entries by ascending RecordedAt, then ID.
	List(ctx context.Context, scope memory.Scope, o ListOptions) (Page, error)
	// History returns every version connected with an entry by predecessors, oldest first,
	// or ErrNotFound.
	History(ctx context.Context, scope memory.Scope, id string) ([]memory.Memory, error)
	// Search returns the entries nearest to the query, best first.
	Search(ctx context.Context, scope memory.Scope, q Query) ([]Scored, error)
	// Turns returns the kept turns among ids, in no order; missing ones are left out.
	Turns(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Turn, error)
	// Core returns the newest version of the user's core block; the zero block where none was written.
	Core(ctx context.Context, scope memory.Scope) (memory.Core, error)
	// Session returns the record of a consolidated session; ok is false when there is none.
	Session(ctx context.Context, scope memory.Scope, sessionID string) (r memory.SessionRecord, ok bool, err error)
	// Owner returns which user of a tenant has an entry, or ErrNotFound, or ErrSeveralOwners where several have the id, as they
	// do when an export was imported under another user. It is the one read without a user: it is for operators who have only an
	// id, and what it returns is the scope that every other read wants.
	Owner(ctx context.Context, tenant, id string) (user string, err error)
	// ListTurns returns a page of the kept turns, each once, in an order of the store's own.
	ListTurns(ctx context.Context, scope memory.Scope, o PageOptions) (TurnPage, error)
	// ListSessions returns a page of the session records, likewise.
	ListSessions(ctx context.Context, scope memory.Scope, o PageOptions) (SessionPage, error)
	// WriteDropped keeps the filter's decisions on turns that did not pass. It is idempotent: of several decisions on a turn the last
	// one stays. It is not part of the user's single writer: whoever attributes may write while another writes the rest.
	WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error
	// Dropped returns the kept decisions among turnIDs, in no order; missing ones are left out.
	Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error)
	// EraseDropped removes the user's decisions on dropped turns and nothing else. It is idempotent.
	EraseDropped(ctx context.Context, scope memory.Scope) error
	// Erase removes everything of the user: entries of every state, turns, session records, every version of the core block and the
	// decisions on dropped turns. It is idempotent. When it returns nil, no read sees any of it; when it fails, part of it may be left.
	Erase(ctx context.Context, scope memory.Scope) error
	// Count returns how much of the user is kept.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
	// CountListed returns how many entries List returns on all pages together. A back-end counts them in its index; only where that does not
	// tell exactly which of them match the filter, it reads them. Limit and Token have no effect.
	CountListed(ctx context.Context, scope memory.Scope, o ListOptions) (int, error)
	// CountMemories returns how many open entries of a tenant are kept, of all users: what an entry was before and what was retracted do not
	// count. What is written at the same time may or may not count. It is for operators, as Owner is.
	CountMemories(ctx context.Context, tenant string) (int, error)
}

// ListOptions selects a page of entries.
type ListOptions struct {
	// Statuses are the states wanted; none means all.
	Statuses []memory.Status
	// Sources asks for entries made of any of these turns; none means all.
	Sources []string
	// Filter asks for entries that match it; the zero filter matches all.
	Filter memory.Filter
	// Limit is the page's size, 1 to 1,000; 0 means 100.
	Limit int
	// Token is the Page.Next of the page before; empty for the first.
	Token string
	// WithVectors asks for the entries' vectors too.
	WithVectors bool
}

// PageOptions selects a page of what has no states.
type PageOptions struct {
	// Limit is the page's size, 1 to 1,000; 0 means 100.
	Limit int
	// Token is the Next of the page before; empty for the first.
	Token string
}

// TurnPage is a page of turns.
type TurnPage struct {
	Turns []memory.Turn
	// Next is the token of the following page; empty on the last.
	Next string
}

// SessionPage is a page of session records.
type SessionPage struct {
	Sessions []memory.SessionRecord
	// Next is the token of the following page; empty on the last.
	Next string
}

// Counts says how much of a user a bank keeps.
type Counts struct {
	// Memories are entries of every state.
	Memories int `json:"memories"`
	// Turns are kept turns.
	Turns int `json:"turns"`
	// Sessions are session records.
	Sessions int `json:"sessions"`
	// Core are the stored versions of the core block; a store may keep the newest only.
	Core int `json:"core"`
	// Dropped are decisions on turns that did not pass the filter. They explain, and are no memory: they are not exported.
	Dropped int `json:"dropped,omitempty"`
}

// Total is the sum.
func (c Counts) Total() int { return c.Memories + c.Turns + c.Sessions + c.Core + c.Dropped }

// Page is a page of entries.
type Page struct {
	Memories []memory.Memory
	// Next is the token of the following page; empty on the last.
	Next string
}

// Query is a hybrid query: BM25 over the entries' IndexText, and vector similarity, fused by relative
// score. Where one side has nothing to go by, as a text of stop words alone, the other decides.
type Query struct {
	// Text is matched by BM25, as QueryText analyses it.
	Text string
	// Vector is matched by cosine; nil means BM25 only.
	Vector []float32
	// K is how many entries are wanted; 0 means 20.
	K int
	// Alpha weighs the vector side, 0 to 1.
	Alpha float32
	// Statuses are the states wanted; none means active only.
	Statuses []memory.Status
	// Filter asks for entries that match it; the zero filter matches all.
	Filter memory.Filter
	// WithVectors asks for the entries' vectors too; back-ends may return them normalised to length 1.
	WithVectors bool
}

// Scored is an entry with its score.
type Scored struct {
	Memory memory.Memory
	// Score is comparable within one result only; larger is better.
	Score float64
}
