package items

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// keepDone is how long the result of a call is known. It is long enough for a caller that lost the answer to repeat
// the call.
const keepDone = 15 * time.Minute

// Call is a call that changes a session.
type Call struct {
	// Session is the session of the user.
	Session string
	// Once is the id of the call. A repetition within a quarter of an hour has no effect and gets the same answer.
	Once string
}

// sessionKeys returns the keys of a session: its items, the sessions of the user, and the number of items of the
// tenant.
func (s *Store) sessionKeys(scope memory.Scope, session string) []string {
	return []string{s.sessionKey(scope, redisstore.Hash(session)), s.UserKey(scope, "sessions"), s.countKey(scope.Tenant)}
}

// once runs a script of scripts.repeatable, and returns the result of the call.
func (s *Store) once(
	ctx context.Context, scope memory.Scope, token redisstore.Token, what string, c Call, args ...any,
) (string, error) {
	script := s.scripts.pop
	if len(args) > 0 {
		script = s.scripts.push
	}
	name := redisstore.Hash(what + " " + strconv.Itoa(len(c.Once)) + " " + c.Once + c.Session)
	keys := append(s.sessionKeys(scope, c.Session), s.doneKey(scope, name), s.UserKey(scope, "done"), s.FenceKey(scope))
	args = append([]any{redisstore.Hash(c.Session), name, keepDone.Milliseconds(), string(token)}, args...)
	out, err := s.Eval(ctx, what, script, keys, args...)
	if err != nil {
		return "", err
	}
	text, err := out.Text()
	if text == "erased" {
		err = redisstore.ErrErased
	}
	return text, err
}

// Append appends items to a session, all or none, and returns the session's new number of items. token is the token
// of the request.
func (s *Store) Append(
	ctx context.Context, scope memory.Scope, token redisstore.Token, c Call, items []Object,
) (int, error) {
	if n := len(items); n < 1 || n > MaxAppended {
		return 0, fault.Terminal("items", "has %d entries, want 1 to %d", n, MaxAppended)
	}
	args := []any{MaxSessionItems, MaxSessions, s.o.Items}
	for _, item := range items {
		args = append(args, []byte(item))
	}
	out, err := s.once(ctx, scope, token, "append", c, args...)
	if err != nil {
		return 0, err
	}
	switch out {
	case "sessions":
		return 0, fmt.Errorf("%w: the user has %d sessions, which is the maximum: clear some", ErrManySessions, MaxSessions)
	case "tenant":
		return 0, ErrQuota
	case "items":
		return 0, fmt.Errorf("%w: the session would have more than %d items, which is the maximum: clear it, or begin "+
			"another one",
			ErrManyItems, MaxSessionItems)
	}
	count, err := strconv.Atoi(out)
	if err != nil {
		return 0, unreadable("append", err)
	}
	return count, nil
}

// Pop removes the last item of a session and returns it. There may be no item. token is the token of the request.
func (s *Store) Pop(
	ctx context.Context, scope memory.Scope, token redisstore.Token, c Call,
) (item Object, ok bool, err error) {
	out, err := s.once(ctx, scope, token, "pop", c)
	switch {
	case err != nil:
		return nil, false, err
	case out == "":
		return nil, false, unreadable("pop", nil)
	}
	return Object(out[1:]), out[0] == '1', nil
}

// Latest returns up to limit last items of a session, in the order of their appends. It also returns the place of the
// first one, counted from 0. The items come before a given place, or before the end if it is 0. They have at most
// MaxAnswer bytes, so there may be fewer than the limit although first is not 0.
func (s *Store) Latest(
	ctx context.Context, scope memory.Scope, session string, limit, before int,
) (items []Object, first int, err error) {
	if limit < 1 || limit > MaxLatest {
		return nil, 0, fault.Terminal("limit", "is %d, want 1 to %d", limit, MaxLatest)
	}
	if before < 0 || before > MaxSessionItems {
		return nil, 0, fault.Terminal("before", "is %d, want 0 to %d", before, MaxSessionItems)
	}
	out, err := s.Eval(ctx, "read a session", s.scripts.last, s.sessionKeys(scope, session)[:1], limit, MaxAnswer, before)
	if err != nil {
		return nil, 0, err
	}
	texts, err := out.StringSlice()
	if err == nil && len(texts) > 0 {
		first, err = strconv.Atoi(texts[0])
	}
	if err != nil || len(texts) == 0 {
		return nil, 0, unreadable("read a session", err)
	}
	items = make([]Object, len(texts)-1)
	for i, text := range texts[1:] {
		items[len(items)-1-i] = Object(text)
	}
	return items, first, nil
}

// Clear removes all items of a session.
func (s *Store) Clear(ctx context.Context, scope memory.Scope, session string) error {
	_, err := s.Eval(ctx, "clear a session", s.scripts.clear, s.sessionKeys(scope, session), redisstore.Hash(session))
	return err
}
