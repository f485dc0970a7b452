package redis

import goredis "github.com/redis/go-redis/v9"

// The scripts read no clock and no random number. They depend on their arguments alone, so a log that runs them again
// writes the same. Each runs as a whole or not at all.

// scripts holds the compiled scripts. They are sent by hash, and in full if the server does not know them.
type scripts struct {
	commit, put *goredis.Script
}

func newScripts() scripts {
	return scripts{commit: goredis.NewScript(commitSource), put: goredis.NewScript(putSource)}
}

// commitSource: KEYS are the tenant's state and versions, and the user's events. ARGV are the revision before the
// change, the revision after it, the new body, and the maximum number of versions. Then follow the time in ms before
// which events are dropped, the lifetime of the events' key in ms, and the number of versions. Then come number and
// body of each version, then time in ms and id of each event. It returns 0 and changes nothing if the revision
// differs.
const commitSource = `
local state, versions, events = KEYS[1], KEYS[2], KEYS[3]
if (redis.call('HGET', state, 'revision') or '0') ~= ARGV[1] then
  return 0
end
redis.call('HSET', state, 'revision', ARGV[2], 'body', ARGV[3])

local at = 8
local newest
for i = 1, tonumber(ARGV[7]) do
  newest = ARGV[at]
  redis.call('HSET', versions, newest, ARGV[at + 1])
  at = at + 2
end
if newest then
  for _, number in ipairs(redis.call('HKEYS', versions)) do
    if tonumber(number) <= tonumber(newest) - tonumber(ARGV[4]) then
      redis.call('HDEL', versions, number)
    end
  end
end

if at <= #ARGV then
  for i = at, #ARGV, 2 do
    redis.call('ZADD', events, ARGV[i], ARGV[i + 1])
  end
  redis.call('ZREMRANGEBYSCORE', events, '-inf', '(' .. ARGV[5])
  redis.call('PEXPIRE', events, ARGV[6])
end
return 1
`

// putSource: KEYS are the user's traces and their order. ARGV are the recall's id, the trace, the current time in ms,
// the time up to which traces are dropped, the maximum number of traces, and the lifetime of a trace in ms.
const putSource = `
local traces, order = KEYS[1], KEYS[2]
redis.call('HSET', traces, ARGV[1], ARGV[2])
redis.call('ZADD', order, ARGV[3], ARGV[1])
local function drop(ids)
  for _, id in ipairs(ids) do
    redis.call('HDEL', traces, id)
    redis.call('ZREM', order, id)
  end
end
drop(redis.call('ZRANGEBYSCORE', order, '-inf', ARGV[4]))
drop(redis.call('ZRANGE', order, 0, -(tonumber(ARGV[5]) + 1)))
redis.call('PEXPIRE', traces, ARGV[6])
redis.call('PEXPIRE', order, ARGV[6])
return 1
`
