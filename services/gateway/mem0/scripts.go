package mem0

import goredis "github.com/redis/go-redis/v9"

// The scripts take the time from Redis, so that clocks of replicas do not matter, and write numbers in full: Lua would round them. Each
// runs as a whole or not at all.

// touchScript notes that a session was used. KEYS are the sessions of a tenant by when they are to be closed, in ms, their last turns, and
// the sessions of the user. ARGV are the session, its last turn, how long it may be idle in ms, and how long those of the user are known.
func touchScript() *goredis.Script {
	return goredis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[3])), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('SADD', KEYS[3], ARGV[1])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return 1`)
}

// dueScript takes sessions that are to be closed for ARGV[1] ms, ARGV[2] of them at most, and returns them with their last turns.
func dueScript() *goredis.Script {
	return goredis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local out = {}
for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[2])) do
  local last = redis.call('HGET', KEYS[2], session)
  if last then
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[1])), session)
    out[#out + 1] = session
    out[#out + 1] = last
  else
    redis.call('ZREM', KEYS[1], session)
  end
end
return out`)
}

// closedScript takes a session off that was closed after the turn ARGV[2], unless something was added to it since.
func closedScript() *goredis.Script {
	return goredis.NewScript(`
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[3], ARGV[1])
return 1`)
}
