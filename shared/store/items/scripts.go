package items

import (
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// scripts are the Redis scripts. Numbers are written in full, because Lua would round them.
type scripts struct {
	itemScripts
	sessionScripts
}

// itemScripts work on items by namespace and key. erase works on all data of a user.
type itemScripts struct {
	put, remove, get, read, names, sweep, due, erase *goredis.Script
}

// clock returns the time in µs.
const clock = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function whole(n) return string.format('%.0f', n) end
`

// counting updates the item count of a tenant at a key. It includes items in sessions.
const counting = `
local function counted(key, n)
  if n ~= 0 and redis.call('INCRBY', key, n) <= 0 then redis.call('DEL', key) end
end
local function over(key, n, most)
  return tonumber(most) > 0 and tonumber(redis.call('GET', key) or 0) + n > tonumber(most)
end
`

// expiring is the common part of scripts with the KEYS of itemKeys. An item is expired from its expiry time on.
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

func newItemScripts() itemScripts {
	return itemScripts{
		// put stores ARGV[2] as ARGV[1] for ARGV[3] µs; 0 means for ever. It returns 0 if the user ARGV[5] has ARGV[4]
		// items. It returns -1 if the tenant ARGV[6] has reached its limit; a limit of 0 means none. A stored value
		// begins with its creation time and its lifetime. Two changes of a user never have the same time. It returns -2
		// if the user was erased since the token ARGV[7]; KEYS[6] is the fence.
		put: goredis.NewScript(redisstore.Fence + expiring + `
if overtaken(KEYS[6], ARGV[7]) then return -2 end
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

		// get returns the update time of ARGV[1] and its value. It returns an empty list for a missing item. If ARGV[2]
		// is 1, its lifetime starts again.
		get: goredis.NewScript(expiring + `
local updated, expires = lives(ARGV[1])
if not updated then return {} end
local kept = redis.call('HGET', KEYS[3], ARGV[1])
if expires and ARGV[2] == '1' then
  redis.call('ZADD', KEYS[2], whole(now + tonumber(string.match(kept, '^%d+ (%d+)'))), ARGV[1])
  announced(ARGV[3])
end
return {updated, kept}`),

		// read returns the update time and the value of each item in ARGV. It returns two empty texts for a missing
		// item.
		read: goredis.NewScript(expiring + `
local out = {}
for i, member in ipairs(ARGV) do
  local updated = lives(member)
  out[2 * i - 1] = updated or ''
  out[2 * i] = updated and redis.call('HGET', KEYS[3], member) or ''
end
return out`),

		// names returns the names of all items, last updated first, and the names of expired items.
		names: goredis.NewScript(clock + `
return {redis.call('ZREVRANGE', KEYS[1], 0, -1), redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now))}`),

		// sweep removes at most ARGV[2] expired items of the user ARGV[1].
		sweep: goredis.NewScript(expiring + `
swept(tonumber(ARGV[2]))
announced(ARGV[1])
return 1`),

		// due returns at most ARGV[1] users with expired items.
		due: goredis.NewScript(clock + `
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'LIMIT', 0, ARGV[1])`),

		// erase removes all items of the user ARGV[1]. KEYS are the KEYS of itemKeys, the sessions of the user, the
		// calls of the user, the fence, then each session and call. ARGV continue with the field and the ms of the
		// fence, the numbers of sessions and calls, and their names. If the sessions or calls have changed since they
		// were read, it returns 0 and removes nothing.
		erase: goredis.NewScript(redisstore.Fence + counting + `
if ARGV[2] ~= '' and redis.call('HEXISTS', KEYS[8], ARGV[2]) == 1 then return 1 end
local sessions, calls = tonumber(ARGV[4]), tonumber(ARGV[5])
if redis.call('SCARD', KEYS[6]) ~= sessions or redis.call('ZCARD', KEYS[7]) ~= calls then return 0 end
for i = 1, sessions do
  if redis.call('SISMEMBER', KEYS[6], ARGV[5 + i]) == 0 then return 0 end
end
for i = 1, calls do
  if not redis.call('ZSCORE', KEYS[7], ARGV[5 + sessions + i]) then return 0 end
end
erase_once(KEYS[8], ARGV[2], ARGV[3])
local n = redis.call('ZCARD', KEYS[1])
for i = 1, sessions do n = n + redis.call('LLEN', KEYS[8 + i]) end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[6], KEYS[7])
redis.call('ZREM', KEYS[4], ARGV[1])
for i = 9, #KEYS do redis.call('UNLINK', KEYS[i]) end
counted(KEYS[5], -n)
return 1`),
	}
}
