// Package weights is the port to what the reranker keeps: the learned weights of each tenant with their versions, and the
// traces of recalls until their citations come. It knows bytes alone; what they mean is the reranker's. Package weightstest holds the
// conformance suite that every back-end passes.
package weights

import (
	"context"
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// ErrConflict says that somebody else has changed the tenant's weights: load them again and decide anew.
var ErrConflict = errors.New("the weights were changed by somebody else")

// Record is what is kept of a tenant.
type Record struct {
	// Revision counts the changes; 0 means that there was none, and that there is no body.
	Revision uint64
	// Body is the state; nil where the revision is the one that the caller has already.
	Body []byte
}

// Version is a version of a tenant's weights.
type Version struct {
	// Number is from 1 and never given twice.
	Number uint64
	// Body is the version.
	Body []byte
}

// Event is a report of citations that has been learned from.
type Event struct {
	// ID is unique within the user.
	ID string
	// Time is when the citations were reported, after 1970.
	Time time.Time
}

// Change is one step of a tenant's weights.
type Change struct {
	// From is the revision that the change was made from.
	From uint64
	// Body is the new state.
	Body []byte
	// Versions are the versions made, by ascending number; none is fine.
	Versions []Version
	// User is whose reports Events are.
	User string
	// Events are the reports that were learned from; none is fine.
	Events []Event
}

// Known says what was learned from a user's reports.
type Known struct {
	// Seen says for each event asked for whether it was learned from.
	Seen []bool
	// Recent is how many events of the user were learned from that were reported after a time.
	Recent int
}

// Counts says how much of a user is kept.
type Counts struct {
	// Traces are those of recalls, with such as have expired and are not yet removed.
	Traces int
	// Events are the ids of reports that were learned from, likewise.
	Events int
}

// Tenants keeps the weights of tenants. Everything of a tenant changes by Commit alone, one change after another, so what was read
// after Load still holds when a Commit from its revision succeeds.
type Tenants interface {
	// Load returns what is kept of a tenant, without the body where its revision is known.
	Load(ctx context.Context, tenant string, known uint64) (Record, error)
	// Known says which events of a user were learned from, and how many that were reported after since.
	Known(ctx context.Context, scope memory.Scope, eventIDs []string, since time.Time) (Known, error)
	// Commit makes a change as a whole, or returns ErrConflict and changes nothing when the revision is another than Change.From.
	// Versions beyond Limits.Versions are forgotten, the smallest first.
	Commit(ctx context.Context, tenant string, c Change) error
	// Versions returns the versions that are kept, newest first.
	Versions(ctx context.Context, tenant string) ([]Version, error)
}

// Traces keeps what was decided on in recalls.
type Traces interface {
	// PutTrace keeps a trace for Limits.TraceTTL. The same recall again replaces it. Traces beyond Limits.Traces are forgotten, the
	// oldest first.
	PutTrace(ctx context.Context, scope memory.Scope, recallID string, trace []byte) error
	// Traces returns the traces of recalls, nil for each that is not kept.
	Traces(ctx context.Context, scope memory.Scope, recallIDs []string) ([][]byte, error)
	// Erase forgets a user: traces, and which reports were learned from. It is idempotent. What was learned stays, as a
	// change of the tenant's weights that no user can be told from.
	Erase(ctx context.Context, scope memory.Scope) error
	// Count returns how much of a user is kept.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
}

// Store is the whole port. Implementations are safe for concurrent use, and by several processes where the back-end is shared.
// Slices that are passed in are not kept, and those returned are the caller's. Other errors than ErrConflict are retryable.
type Store interface {
	Tenants
	Traces
}
