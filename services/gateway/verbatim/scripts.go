package verbatim

import goredis "github.com/redis/go-redis/v9"

// scripts are what runs in Redis. Numbers are written in full: Lua would round them.
type scripts struct {
	put, remove, get, read, names, sweep, due *goredis.Script
	push, pop, last, clear, forget            *goredis.Script
}

// clock tells the time in µs.
const clock = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function whole(n) return string.format('%.0f', n) end
`

// counting keeps the number of items of a tenant, those of sessions included, at a key.
const counting = `
local function counted(key, n)
  if n ~= 0 and redis.call('INCRBY', key, n) <= 0 then redis.call('DEL', key) end
end
local function over(key, n, most)
  return tonumber(most) > 0 and tonumber(redis.call('GET', key) or 0) + n > tonumber(most)
end
`

// expiring is of scripts whose KEYS are those of itemKeys. An item has expired from the moment on that it is said to expire at.
const expiring = clock + counting + `
local function swept(most)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now), 'LIMIT', 0, most)) do
    counted(KEYS[5], -redis.call('ZREM', KEYS[1], member))
    redis.call('ZREM', KEYS[2], member)
    redis.call('HDEL', KEYS[3], member)
  end
end
local function announced(user)
  local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  if first[2] then
    redis.call('ZADD', KEYS[4], whole(tonumber(first[2])), user)
  else
    redis.call('ZREM', KEYS[4], user)
  end
end
local function lives(member)
  local updated = redis.call('ZSCORE', KEYS[1], member)
  local expires = redis.call('ZSCORE', KEYS[2], member)
  if updated and (not expires or tonumber(expires) > now) then
    return whole(tonumber(updated)), expires
  end
  return nil, nil
end
`

// repeatable is of scripts whose KEYS[1] is a session, KEYS[2] the sessions of its user, KEYS[3] the number of items of the tenant, KEYS[4]
// what a call came to and KEYS[5] the calls of the user; ARGV[1] is the session, ARGV[2] the call and ARGV[3] how long it is known, in ms.
const repeatable = clock + counting + `
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

func newScripts() scripts {
	return scripts{
		// put keeps ARGV[2] as ARGV[1] for ARGV[3] µs, 0 for ever, unless the user ARGV[5] has ARGV[4] items (then it returns 0), or
		// the tenant ARGV[6] (then -1; where that is 0, it may have any number). What is kept begins with when the
		// item was made and how long it lives. Two changes of a user are never of the same moment.
		put: goredis.NewScript(expiring + `
swept(100)
local updated = now
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if last[2] and tonumber(last[2]) >= now then updated = tonumber(last[2]) + 1 end
local created = whole(updated)
if lives(ARGV[1]) then
  created = string.match(redis.call('HGET', KEYS[3], ARGV[1]), '^%d+')
elseif redis.call('ZCARD', KEYS[1]) - redis.call('ZCOUNT', KEYS[2], '-inf', whole(now)) >= tonumber(ARGV[4]) then
  return 0
elseif over(KEYS[5], 1, ARGV[6]) then
  return -1
end
counted(KEYS[5], redis.call('ZADD', KEYS[1], whole(updated), ARGV[1]))
redis.call('HSET', KEYS[3], ARGV[1], created .. ' ' .. ARGV[3] .. ' ' .. ARGV[2])
if ARGV[3] == '0' then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[2], whole(now + tonumber(ARGV[3])), ARGV[1])
end
announced(ARGV[5])
return 1`),

		// remove removes ARGV[1] of the user ARGV[2].
		remove: goredis.NewScript(expiring + `
counted(KEYS[5], -redis.call('ZREM', KEYS[1], ARGV[1]))
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
announced(ARGV[2])
return 1`),

		// get returns when ARGV[1] was updated, and what it is; nothing where it is not there. Where ARGV[2] is 1 its life begins anew.
		get: goredis.NewScript(expiring + `
local updated, expires = lives(ARGV[1])
if not updated then return {} end
local kept = redis.call('HGET', KEYS[3], ARGV[1])
if expires and ARGV[2] == '1' then
  redis.call('ZADD', KEYS[2], whole(now + tonumber(string.match(kept, '^%d+ (%d+)'))), ARGV[1])
  announced(ARGV[3])
end
return {updated, kept}`),

		// read returns, for each of ARGV, when it was updated and what it is; two empty texts where it is not there.
		read: goredis.NewScript(expiring + `
local out = {}
for i, member in ipairs(ARGV) do
  local updated = lives(member)
  out[2 * i - 1] = updated or ''
  out[2 * i] = updated and redis.call('HGET', KEYS[3], member) or ''
end
return out`),

		// names returns the names of all items, the one that was updated last first, and of those that have expired.
		names: goredis.NewScript(clock + `
return {redis.call('ZREVRANGE', KEYS[1], 0, -1), redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now))}`),

		// sweep removes what has expired of the user ARGV[1], ARGV[2] items at most.
		sweep: goredis.NewScript(expiring + `
swept(tonumber(ARGV[2]))
announced(ARGV[1])
return 1`),

		// due returns users of whom something has expired, ARGV[1] at most.
		due: goredis.NewScript(clock + `
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'LIMIT', 0, ARGV[1])`),

		// push appends the ARGV from the seventh on, and returns how many items the session has then: unless that would be over ARGV[4], or it
		// would be a session over ARGV[5] of the user, or the tenant would have items over ARGV[6], where that is not 0.
		push: goredis.NewScript(repeatable + `
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 and redis.call('SCARD', KEYS[2]) >= tonumber(ARGV[5]) then return 'sessions' end
if redis.call('LLEN', KEYS[1]) + #ARGV - 6 > tonumber(ARGV[4]) then return 'items' end
if over(KEYS[3], #ARGV - 6, ARGV[6]) then return 'tenant' end
for i = 7, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
counted(KEYS[3], #ARGV - 6)
redis.call('SADD', KEYS[2], ARGV[1])
return done(whole(redis.call('LLEN', KEYS[1])))`),

		// pop takes the last item off, and returns it after a 1; 0 where there is none.
		pop: goredis.NewScript(repeatable + `
local item = redis.call('RPOP', KEYS[1])
if redis.call('LLEN', KEYS[1]) == 0 then redis.call('SREM', KEYS[2], ARGV[1]) end
if not item then return done('0') end
counted(KEYS[3], -1)
return done('1' .. item)`),

		// last returns the last ARGV[1] items before the place ARGV[3], 0 for the end, as far as they have no more than ARGV[2] bytes: the place
		// of the first of them, counted from 0, and then the items, the last one first.
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

		// forget removes all items of the user ARGV[1], and sessions: those of the KEYS from the seventh on, which the other ARGV are in KEYS[6].
		forget: goredis.NewScript(counting + `
local n = redis.call('ZCARD', KEYS[1])
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
for i = 2, #ARGV do
  n = n + redis.call('LLEN', KEYS[5 + i])
  redis.call('UNLINK', KEYS[5 + i])
  redis.call('SREM', KEYS[6], ARGV[i])
end
counted(KEYS[5], -n)
return 1`),
	}
}
