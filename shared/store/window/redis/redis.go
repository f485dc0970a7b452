// Package redis keeps working memory in Redis or Valkey, version 7.0 or later, alone or as a cluster.
//
// Every operation is one script, hence atomic. The keys of one user share a hash tag, so that a cluster keeps them on
// one node. The tag is the hexadecimal SHA-256 of the scope's key. So braces and other characters of a user id have
// no meaning to the cluster, and the keys contain no user id.
package redis

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// DefaultPrefix is the default prefix of a window's keys.
const DefaultPrefix = "mneme:window:"

// Options configure a window.
type Options struct {
	// Limits limit every user's window. All replicas must have the same.
	Limits window.Limits
	// Prefix is the prefix of every key; empty means DefaultPrefix. It must not contain braces.
	Prefix string
}

// Window is a window.Window in Redis. Errors of the connection or the server are retryable.
type Window struct {
	client  goredis.UniversalClient
	limits  window.Limits
	prefix  string
	scripts scripts
}

var _ window.Window = (*Window)(nil)

// New returns a window over a client. The caller closes the client. New sends no command.
func New(client goredis.UniversalClient, o Options) (*Window, error) {
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	prefix := o.Prefix
	prefix = cmp.Or(prefix, DefaultPrefix)
	for _, r := range prefix {
		if r == '{' || r == '}' {
			return nil, fmt.Errorf("window prefix %q contains a brace, want none: braces mark the hash tag", prefix)
		}
	}
	return &Window{client: client, limits: o.Limits, prefix: prefix, scripts: newScripts()}, nil
}

// Append implements window.Window.
func (w *Window) Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) error {
	kept := make([]window.Kept, len(turns))
	for i, t := range turns {
		kept[i].Turn = t
	}
	return fault.During("append to window", w.add(ctx, scope, kept))
}

// Keep implements window.Window.
func (w *Window) Keep(ctx context.Context, scope memory.Scope, kept []window.Kept) error {
	for _, k := range kept {
		if k.Until.IsZero() {
			return fault.Terminal("kept.until", "is not set")
		}
	}
	return fault.During("keep in window", w.add(ctx, scope, kept))
}

// add adds turns. A turn with a time is kept until then.
func (w *Window) add(ctx context.Context, scope memory.Scope, kept []window.Kept) error {
	if len(kept) == 0 {
		return nil
	}
	args := make([]any, 0, 3+5*len(kept))
	args = append(args, w.limits.Words, w.limits.Age.Milliseconds(), w.limits.Idle.Milliseconds())
	for _, k := range kept {
		encoded, err := encode(k)
		if err != nil {
			return err
		}
		args = append(args, encoded...)
	}
	return w.scripts.add.Run(ctx, w.client, w.keys(scope), args...).Err()
}

// Recent implements window.Window.
func (w *Window) Recent(ctx context.Context, scope memory.Scope, at time.Time) ([]memory.Turn, error) {
	bodies, err := w.scripts.recent.Run(ctx, w.client, w.keys(scope), milliseconds(at)).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("read window: %w", err)
	}
	turns := make([]memory.Turn, len(bodies))
	for i, body := range bodies {
		if err := json.Unmarshal([]byte(body), &turns[i]); err != nil {
			return nil, fault.Terminal("window.turn", "decode stored turn: %w", err)
		}
	}
	return turns, nil
}

// Retire implements window.Window.
func (w *Window) Retire(ctx context.Context, scope memory.Scope, turnIDs []string) error {
	if len(turnIDs) == 0 {
		return nil
	}
	args := make([]any, 0, 1+len(turnIDs))
	args = append(args, w.limits.Idle.Milliseconds())
	for _, id := range turnIDs {
		args = append(args, id)
	}
	return fault.During("retire from window", w.scripts.retire.Run(ctx, w.client, w.keys(scope), args...).Err())
}

// keys returns the keys of one user, in the order of the scripts.
func (w *Window) keys(scope memory.Scope) []string {
	sum := sha256.Sum256([]byte(scope.Key()))
	tag := w.prefix + "{" + hex.EncodeToString(sum[:]) + "}:"
	return []string{tag + "turns", tag + "bodies", tag + "retired", tag + "newest"}
}

// body is the stored form of a turn. The scripts read the first fields; only the decoder of the turn reads the rest.
type body struct {
	Words int    `json:"words"`
	Until *int64 `json:"until,omitempty"`
	memory.Turn
}

// encode returns the script arguments of a turn: id, ms, rest in ns, JSON, and the end of its keeping time in ms.
func encode(k window.Kept) ([]any, error) {
	t := k.Turn
	if t.ID == "" {
		return nil, fault.Terminal("turn.id", "is empty")
	}
	t.Time = t.Time.UTC()
	b := body{Words: window.Words(t), Turn: t}
	if !k.Until.IsZero() {
		until := k.Until.UnixMilli()
		b.Until = &until
	}
	encoded, err := json.Marshal(b)
	if err != nil {
		return nil, fault.Terminal("turn", "encode: %w", err)
	}
	rest := fmt.Sprintf("%06d", t.Time.Nanosecond()%1_000_000)
	return []any{t.ID, strconv.FormatInt(t.Time.UnixMilli(), 10), rest, encoded, milliseconds(k.Until)}, nil
}

// milliseconds converts a time to a script argument. It is empty for a zero time.
func milliseconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// Indexes of keys in the result of Window.keys.
const (
	keyBodies  = 1
	keyRetired = 2
)

// Erase implements window.Window. The user's keys are on one node, so one call removes them.
func (w *Window) Erase(ctx context.Context, scope memory.Scope) error {
	return fault.During("erase window", w.client.Del(ctx, w.keys(scope)...).Err())
}

// Reinstate implements window.Window.
func (w *Window) Reinstate(ctx context.Context, scope memory.Scope) error {
	return fault.During("reinstate turns of window", w.scripts.reinstate.Run(ctx, w.client, w.keys(scope)).Err())
}

// Count implements window.Window. It counts the bodies, because they hold the texts. It does not count the order of
// turns.
func (w *Window) Count(ctx context.Context, scope memory.Scope) (window.Counts, error) {
	keys := w.keys(scope)
	pipe := w.client.Pipeline()
	bodies, retired := pipe.HLen(ctx, keys[keyBodies]), pipe.ZCard(ctx, keys[keyRetired])
	if _, err := pipe.Exec(ctx); err != nil {
		return window.Counts{}, fmt.Errorf("count window: %w", err)
	}
	return window.Counts{Turns: int(bodies.Val()), Retired: int(retired.Val())}, nil
}
