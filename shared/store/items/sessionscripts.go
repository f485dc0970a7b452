package items

import (
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

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
