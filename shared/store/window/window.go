// Package window is the port to working memory W: the recent salient turns of a user in a sliding window. Package
// windowtest has the conformance suite that every store passes.
package window

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Kept is a turn that stays in the window until a time, and no longer.
type Kept struct {
	Turn  memory.Turn
	Until time.Time
}

// Counts has the numbers of stored objects of a user.
type Counts struct {
	// Turns is the number of turns in the window.
	Turns int
	// Retired is the number of turn ids that may not come back.
	Retired int
}

// Window keeps the recent salient turns of all users. Implementations are safe for concurrent use. A user without
// data has an empty window, not an error.
type Window interface {
	// Append adds turns. It is atomic per call and idempotent by turn id: a turn that is in the window, or was retired
	// from it, is not added again. Turns beyond the limits are dropped, oldest first, in any order of arrival. A kept
	// turn is also dropped if the newest turn is later than its time.
	Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) error
	// Keep keeps turns in the window until a time each, outside the budget of other turns. It adds a turn that is not
	// in the window and was not retired from it. An already kept turn stays until the later time. It is atomic per
	// call.
	Keep(ctx context.Context, scope memory.Scope, kept []Kept) error
	// Recent returns the window at a time, by ascending time, then id. It omits turns that were kept until before that
	// time. A zero time omits none.
	Recent(ctx context.Context, scope memory.Scope, at time.Time) ([]memory.Turn, error)
	// Retire removes turns, and prevents their next append for the lifetime of the window.
	Retire(ctx context.Context, scope memory.Scope, turnIDs []string) error
	// Erase removes all data of the user: the turns and the retired ids. It is idempotent.
	Erase(ctx context.Context, scope memory.Scope) error
	// Reinstate removes the retired ids and the kept turns, and leaves the other turns. It is idempotent.
	Reinstate(ctx context.Context, scope memory.Scope) error
	// Count returns the numbers of stored objects of the user.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
}
