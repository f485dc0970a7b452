// Package window is the port to working memory W: the recent salient turns of a user in a
// sliding window. Package windowtest holds the conformance suite that every back-end passes.
package window

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits bound a window. Both hold at once.
type Limits struct {
	// Turns is how many turns are kept at most.
	Turns int
	// Age is how much older than the user's newest turn a kept turn may be. It is measured in the
	// turns' own time, so that an imported conversation has a window too.
	Age time.Duration
	// Idle is after how long without a write the whole window is forgotten, by the clock.
	Idle time.Duration
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
	// oldest first, whatever the order they came in.
	Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) error
	// Recent returns the window by ascending time, then id.
	Recent(ctx context.Context, scope memory.Scope) ([]memory.Turn, error)
	// Retire removes turns, and keeps them from being appended again for as long as the window lives.
	Retire(ctx context.Context, scope memory.Scope, turnIDs []string) error
	// Erase forgets everything of the user: the turns, and which were retired. It is idempotent.
	Erase(ctx context.Context, scope memory.Scope) error
	// Reinstate forgets which turns were retired and leaves the turns of the window as they are. It is idempotent.
	Reinstate(ctx context.Context, scope memory.Scope) error
	// Count returns how much of the user is kept.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
	// Ping reports whether the store can be reached.
	Ping(ctx context.Context) error
}
