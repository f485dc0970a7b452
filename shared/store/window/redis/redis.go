// Package redis keeps working memory in Redis or Valkey, version 7.0 or later, alone or as a cluster.
//
// Every operation is one script, hence atomic. The keys of one user carry one hash tag, so
// that a cluster keeps them on one node. The tag is the hexadecimal SHA-256 of the scope's
// key: braces and any other character of a user id mean nothing to the cluster, and no user id
// stands in the key space.
package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// DefaultPrefix begins the keys of a window.
const DefaultPrefix = "mneme:window:"

// Options configure a window.
type Options struct {
	// Limits bound every user's window. All replicas must have the same.
	Limits window.Limits
	// Prefix begins every key; empty means DefaultPrefix. It must not contain braces.
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

// New makes a window over a client, which stays the caller's to close. It sends nothing.
func New(client goredis.UniversalClient, o Options) (*Window, error) {
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	prefix := o.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	for _, r := range prefix {
		if r == '{' || r == '}' {
			return nil, fmt.Errorf("window prefix %q contains a brace, want none: braces mark the hash tag", prefix)
		}
	}
	return &Window{client: client, limits: o.Limits, prefix: prefix, scripts: newScripts()}, nil
}

// Append implements window.Window.
func (w *Window) Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) error {
	if len(turns) == 0 {
		return nil
	}
	args := make([]any, 0, 3+4*len(turns))
	args = append(args, w.limits.Turns, w.limits.Age.Milliseconds(), w.limits.Idle.Milliseconds())
	for i := range turns {
		encoded, err := encode(turns[i])
		if err != nil {
			return err
		}
		args = append(args, encoded...)
	}
	if err := w.scripts.append.Run(ctx, w.client, w.keys(scope), args...).Err(); err != nil {
		return fmt.Errorf("append to window: %w", err)
	}
	return nil
}

// Recent implements window.Window.
func (w *Window) Recent(ctx context.Context, scope memory.Scope) ([]memory.Turn, error) {
	bodies, err := w.scripts.recent.Run(ctx, w.client, w.keys(scope)).StringSlice()
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
	if err := w.scripts.retire.Run(ctx, w.client, w.keys(scope), args...).Err(); err != nil {
		return fmt.Errorf("retire from window: %w", err)
	}
	return nil
}

// Ping implements window.Window.
func (w *Window) Ping(ctx context.Context) error {
	if err := w.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping window store: %w", err)
	}
	return nil
}

// keys are the keys of one user, in the order the scripts expect.
func (w *Window) keys(scope memory.Scope) []string {
	sum := sha256.Sum256([]byte(scope.Key()))
	tag := w.prefix + "{" + hex.EncodeToString(sum[:]) + "}:"
	return []string{tag + "turns", tag + "bodies", tag + "retired", tag + "newest"}
}

// encode is a turn as the append script takes it: id, ms, rest in ns, JSON.
func encode(t memory.Turn) ([]any, error) {
	if t.ID == "" {
		return nil, fault.Terminal("turn.id", "is empty")
	}
	t.Time = t.Time.UTC()
	body, err := json.Marshal(t)
	if err != nil {
		return nil, fault.Terminal("turn", "encode: %w", err)
	}
	rest := fmt.Sprintf("%06d", t.Time.Nanosecond()%1_000_000)
	return []any{t.ID, strconv.FormatInt(t.Time.UnixMilli(), 10), rest, body}, nil
}
