// Package window is the port to working memory W: the recent salient turns of a user in a
// sliding window. Package windowtest holds the conformance suite that every back-end passes.
package window

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Kept is a turn that is to stay in the window until a time, and no longer.
type Kept struct {
	Turn  memory.Turn
	Until time.Time
}

// Counts says how much of a user a window keeps.
type Counts struct {
	// Turns are those of the window.
	Turns int
	// Retired are the ids of turns that may not come back.
	Retired int
}

// Window keeps the recent salient turns of all users. Implementations are safe for
// concurrent use. A user nobody has written to has an empty window, not an error.
type Window interface {
	// Append adds turns. It is atomic for one call and idempotent by turn id: a turn that is in the
	// window, or was retired from it, is not added again. Turns beyond the limits fall out, the
	// oldest first, whatever the order they came in; kept ones when the newest turn is said after their time, too.
	Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) error
	// Keep has turns stay in the window until a time each, beside the budget of the others; one that is not in the window, and was not
	// retired from it, is added. A turn that is kept already stays until the later time. It is atomic for one call.
	Keep(ctx context.Context, scope memory.Scope, kept []Kept) error
	// Recent returns the window by ascending time, then id, as it is at a time: without the turns that were kept until before it. A zero
	// time leaves none out.
	Recent(ctx context.Context, scope memory.Scope, at time.Time) ([]memory.Turn, error)
	// Retire removes turns, and keeps them from being appended again for as long as the window lives.
	Retire(ctx context.Context, scope memory.Scope, turnIDs []string) error
	// Erase forgets everything of the user: the turns, and which were retired. It is idempotent.
	Erase(ctx context.Context, scope memory.Scope) error
	// Reinstate forgets which turns were retired, and the turns that were kept, and leaves the others as they are. It is idempotent.
	Reinstate(ctx context.Context, scope memory.Scope) error
	// Count returns how much of the user is kept.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
}
