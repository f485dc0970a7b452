package items

import (
	"context"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

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

// sessionScripts work on the items of sessions.
type sessionScripts struct {
	push, pop, last, clear *goredis.Script
}

// repeatable is the common part of scripts with these arguments. KEYS[1] is a session, KEYS[2] has the sessions of
// its user, and KEYS[3] has the number of items of the tenant. KEYS[4] is the result of a call, KEYS[5] has the calls
// of the user, and KEYS[6] is the fence. ARGV[1] is the session, ARGV[2] is the call, ARGV[3] is how long the call is
// known in ms, and ARGV[4] is the token.
const repeatable = redisstore.Fence + clock + counting + `
if overtaken(KEYS[6], ARGV[4]) then return 'erased' end
local known = redis.call('GET', KEYS[4])
if known then return known end
local function done(outcome)
  local keep = tonumber(ARGV[3])
  redis.call('SET', KEYS[4], outcome, 'PX', whole(keep))
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', whole(now))
  redis.call('ZADD', KEYS[5], whole(now + keep * 1000), ARGV[2])
  redis.call('PEXPIRE', KEYS[5], whole(keep))
  return outcome
end
`

func newSessionScripts() sessionScripts {
	return sessionScripts{
		// push appends the ARGV from the eighth on, and returns the session's new number of items. It refuses more than
		// ARGV[5] items in the session, and more than ARGV[6] sessions of the user. It also refuses more than ARGV[7]
		// items of the tenant, unless that is 0.
		push: goredis.NewScript(repeatable + `
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 and redis.call('SCARD', KEYS[2]) >= tonumber(ARGV[6]) then return 'sessions' end
if redis.call('LLEN', KEYS[1]) + #ARGV - 7 > tonumber(ARGV[5]) then return 'items' end
if over(KEYS[3], #ARGV - 7, ARGV[7]) then return 'tenant' end
for i = 8, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
counted(KEYS[3], #ARGV - 7)
redis.call('SADD', KEYS[2], ARGV[1])
return done(whole(redis.call('LLEN', KEYS[1])))`),

		// pop removes the last item, and returns it after a 1. It returns 0 without an item.
		pop: goredis.NewScript(repeatable + `
local item = redis.call('RPOP', KEYS[1])
if redis.call('LLEN', KEYS[1]) == 0 then redis.call('SREM', KEYS[2], ARGV[1]) end
if not item then return done('0') end
counted(KEYS[3], -1)
return done('1' .. item)`),

		// last returns the last ARGV[1] items before the place ARGV[3], with at most ARGV[2] bytes; place 0 means the
		// end. The result is the place of the first item, counted from 0, and then the items, the last one first.
		last: goredis.NewScript(`
local first, room, before = redis.call('LLEN', KEYS[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if before > 0 then first = math.min(first, before) end
local least, out = math.max(0, first - tonumber(ARGV[1])), {''}
while first > least do
  local items = redis.call('LRANGE', KEYS[1], math.max(least, first - 100), first - 1)
  for at = #items, 1, -1 do
    room = room - #items[at]
    if room < 0 then least = first break end
    first = first - 1
    out[#out + 1] = items[at]
  end
end
out[1] = string.format('%d', first)
return out`),

		// clear removes the session ARGV[1].
		clear: goredis.NewScript(counting + `
counted(KEYS[3], -redis.call('LLEN', KEYS[1]))
redis.call('UNLINK', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
return 1`),
	}
}
