// Package weights is the port to the reranker's data: the learned weights of each tenant with their versions, and the
// traces of recalls until their citations arrive. It handles bytes only; the reranker defines their meaning. Package
// weightstest has the conformance suite that every store passes.
package weights

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// ErrConflict means that another writer has changed the tenant's weights. The caller loads them again and repeats its
// decision.
var ErrConflict = errors.New("another writer changed the weights")

// Record is the stored data of a tenant.
type Record struct {
	// Revision counts the changes. Zero means no change and no body.
	Revision uint64
	// Body is the state. It is nil if the caller already has the revision.
	Body []byte
}

// Version is a version of a tenant's weights.
type Version struct {
	// Number starts at 1 and is never reused.
	Number uint64
	// Body is the version.
	Body []byte
}

// Event is a citation report that has been learned.
type Event struct {
	// ID is unique within the user.
	ID string
	// Time is the time of the report, after 1970.
	Time time.Time
}

// Change is one step of a tenant's weights.
type Change struct {
	// From is the revision before the change.
	From uint64
	// Body is the new state.
	Body []byte
	// Versions are the new versions, by ascending number. It may be empty.
	Versions []Version
	// User is the user of the Events.
	User string
	// Events are the learned reports. It may be empty.
	Events []Event
}

// Known describes the learned reports of a user.
type Known struct {
	// Seen has a value per requested event: whether it was learned.
	Seen []bool
	// Recent is the number of learned events of the user with a report time after a given time.
	Recent int
}

// Counts has the numbers of stored objects of a user.
type Counts struct {
	// Traces is the number of traces, including expired ones that are not yet removed.
	Traces int
	// Events is the number of ids of learned reports, including expired ones that are not yet removed.
	Events int
}

// Tenants keeps the weights of tenants. Only Commit changes a tenant's data, one change after another. So data read
// after Load is still valid when a Commit from its revision succeeds.
type Tenants interface {
	// Load returns the data of a tenant, without the body if the revision is known.
	Load(ctx context.Context, tenant string, known uint64) (Record, error)
	// Known returns which events of a user were learned, and the number of those reported after since.
	Known(ctx context.Context, scope memory.Scope, eventIDs []string, since time.Time) (Known, error)
	// Commit applies a change as a whole. If the revision differs from Change.From, it returns ErrConflict and changes
	// nothing. It drops versions beyond Limits.Versions, the smallest first.
	Commit(ctx context.Context, tenant string, c Change) error
	// Versions returns the stored versions, newest first.
	Versions(ctx context.Context, tenant string) ([]Version, error)
}

// Traces keeps the traces of recalls.
type Traces interface {
	// PutTrace stores a trace for Limits.TraceTTL. The same recall again replaces it. Traces beyond Limits.Traces are
	// dropped, the oldest first.
	PutTrace(ctx context.Context, scope memory.Scope, recallID string, trace []byte) error
	// Traces returns the traces of recalls. A missing trace is nil.
	Traces(ctx context.Context, scope memory.Scope, recallIDs []string) ([][]byte, error)
	// Erase removes a user's traces and the ids of learned reports. It is idempotent. The learned weights stay: they
	// are a tenant's weights, and they do not identify a user.
	Erase(ctx context.Context, scope memory.Scope) error
	// Count returns the numbers of stored objects of a user.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
}

// Store is the whole port. Implementations are safe for concurrent use, and by several processes if the store is
// shared. The store does not keep passed slices, and the caller owns returned ones. Errors other than ErrConflict are
// retryable.
type Store interface {
	Tenants
	Traces
}

// Limits limit the stored data. All replicas must have the same.
type Limits struct {
	// Versions is the maximum number of versions per tenant.
	Versions int
	// Traces is the maximum number of traces per user.
	Traces int
	// TraceTTL is how long a trace is kept.
	TraceTTL time.Duration
}

// eventSlack is the maximum difference between the clock of reports and the clock of traces.
const eventSlack = time.Hour

// EventTTL is how long an event is remembered as learned, by the event's time. After that its trace has gone, despite
// differences between clocks.
func (l Limits) EventTTL() time.Duration { return l.TraceTTL + eventSlack }

// Validate checks that the limits are positive, and that times are at least a millisecond, the precision of stores.
func (l Limits) Validate() error {
	switch {
	case l.Versions < 1:
		return fmt.Errorf("weights limits: versions is %d, want at least 1", l.Versions)
	case l.Traces < 1:
		return fmt.Errorf("weights limits: traces is %d, want at least 1", l.Traces)
	case l.TraceTTL < time.Millisecond:
		return fmt.Errorf("weights limits: trace TTL is %s, want at least 1ms", l.TraceTTL)
	}
	return nil
}
