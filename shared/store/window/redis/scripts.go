package redis

import goredis "github.com/redis/go-redis/v9"

// The scripts take the keys of one user in the order of Window.keys:
//
//	KEYS[1] sorted set of the kept turns; score is the time in ms, the member is the rest of the
//	        time in ns (six digits) followed by the turn's id, so that the set's own order of ties is
//	        the order by time, then id
//	KEYS[2] hash from turn id to the same six digits followed by the turn as JSON
//	KEYS[3] sorted set of retired ids; score is the turn's time in ms, so that ids too old to
//	        come back can be dropped
//	KEYS[4] the newest time in ms of all turns ever added
//
// They read no clock and draw no random number: what they write depends on their arguments
// alone, so a log that runs them again writes the same. Each runs as a whole or not at all.

// scripts holds the compiled scripts; they are sent by hash, and in full where the server
// does not know them yet.
type scripts struct {
	append, recent, retire *goredis.Script
}

func newScripts() scripts {
	return scripts{
		append: goredis.NewScript(appendSource),
		recent: goredis.NewScript(recentSource),
		retire: goredis.NewScript(retireSource),
	}
}

// appendSource: ARGV are the limits (turns, age in ms, idle in ms), then for every turn its
// id, ms, rest in ns and JSON.
const appendSource = `
local turns, bodies, retired, mark = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local keep, age, idle = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local newest = tonumber(redis.call('GET', mark) or '')
for i = 4, #ARGV, 4 do
  local id, ms, rest, body = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if redis.call('HEXISTS', bodies, id) == 0 and not redis.call('ZSCORE', retired, id) then
    redis.call('HSET', bodies, id, rest .. body)
    redis.call('ZADD', turns, ms, rest .. id)
    if not newest or tonumber(ms) > newest then
      newest = tonumber(ms)
    end
  end
end

local function drop(members)
  for _, member in ipairs(members) do
    redis.call('ZREM', turns, member)
    redis.call('HDEL', bodies, string.sub(member, 7))
  end
end

if newest then
  redis.call('SET', mark, string.format('%.0f', newest))
  local tooOld = string.format('(%.0f', newest - age)
  drop(redis.call('ZRANGEBYSCORE', turns, '-inf', tooOld))
  redis.call('ZREMRANGEBYSCORE', retired, '-inf', tooOld)
end
drop(redis.call('ZRANGE', turns, 0, -(keep + 1)))

for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, idle)
end
return redis.call('ZCARD', turns)
`

// recentSource returns the JSON of the kept turns in order. A body is missing only where a
// server short of memory evicted it; the others are still worth having.
const recentSource = `
local out = {}
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local body = redis.call('HGET', KEYS[2], string.sub(member, 7))
  if body then
    table.insert(out, string.sub(body, 7))
  end
end
return out
`

// retireSource: ARGV are idle in ms and the ids. An id that is not in the window was
// appended no later than the newest turn, so that turn's time stands for its own; where no turn
// was ever added, the id is kept as long as the window.
const retireSource = `
local turns, bodies, retired, mark = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
for i = 2, #ARGV do
  local id = ARGV[i]
  local body = redis.call('HGET', bodies, id)
  if body then
    local member = string.sub(body, 1, 6) .. id
    redis.call('ZADD', retired, redis.call('ZSCORE', turns, member), id)
    redis.call('ZREM', turns, member)
    redis.call('HDEL', bodies, id)
  elseif not redis.call('ZSCORE', retired, id) then
    redis.call('ZADD', retired, redis.call('GET', mark) or '+inf', id)
  end
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, ARGV[1])
end
return redis.call('ZCARD', turns)
`
