package webhooks

import (
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// scripts use the time of Redis, so the clocks of replicas do not matter. Each runs as a whole or not at all.
type scripts struct{ create, replace, enqueue, take, settle, replay, remove, erased, heard *goredis.Script }

const scriptNow = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`

func newScripts() scripts {
	return scripts{
		// KEYS: endpoints. ARGV: id, endpoint, maximum number of endpoints. It returns 0 at the maximum.
		create: goredis.NewScript(`
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`),
		// KEYS: endpoints. ARGV: id, the old endpoint, the new endpoint. It returns 0 if the endpoint has changed
		// meanwhile.
		replace: goredis.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1`),
		// KEYS: waiting, due, seen, health. ARGV: name, delivery, how long it counts as seen in ms. It returns 0 if it
		// was seen.
		enqueue: goredis.NewScript(scriptNow + `
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('SET', KEYS[3], '1', 'PX', ARGV[3])
if redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) == 1 then redis.call('HINCRBY', KEYS[4], 'pending', 1) end
redis.call('ZADD', KEYS[2], string.format('%.0f', now), ARGV[1])
return 1`),
		// KEYS: waiting, due. ARGV: lease in ms, maximum number, maximum number per endpoint. It returns names and
		// deliveries.
		take: goredis.NewScript(scriptNow + `
local out, of = {}, {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, 1000)) do
  local endpoint = string.match(name, '^[^/]*')
  local body = redis.call('HGET', KEYS[1], name)
  if not body then
    redis.call('ZREM', KEYS[2], name)
  elseif (of[endpoint] or 0) < tonumber(ARGV[3]) then
    of[endpoint] = (of[endpoint] or 0) + 1
    redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[1])), name)
    out[#out + 1] = name
    out[#out + 1] = body
    if #out >= 2 * tonumber(ARGV[2]) then break end
  end
end
return out`),
		// KEYS: waiting, due, dead, died, health. ARGV: name, the outcome (done, again, dead), delivery, a time in ms,
		// the maximum number of dead letters, the endpoint. The time is the delay of the next attempt, or the lifetime
		// of a dead letter. KEYS[6] are the endpoints. A delivery that was removed in between stays removed. A dead
		// letter of a deleted endpoint is removed.
		settle: goredis.NewScript(scriptNow + `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if ARGV[2] == 'again' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[4])), ARGV[1])
  return 1
end
redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('HINCRBY', KEYS[5], 'pending', -1) <= 0 then redis.call('HDEL', KEYS[5], 'pending') end
redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[2] == 'dead' and redis.call('HEXISTS', KEYS[6], ARGV[6]) == 1 then
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
  redis.call('ZADD', KEYS[4], string.format('%.0f', now), ARGV[1])
  local old = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', now - tonumber(ARGV[4])))
  local over = redis.call('ZCARD', KEYS[4]) - tonumber(ARGV[5])
  if over > 0 then
    for _, name in ipairs(redis.call('ZRANGE', KEYS[4], 0, over - 1)) do old[#old + 1] = name end
  end
  for _, name in ipairs(old) do
    redis.call('ZREM', KEYS[4], name)
    redis.call('HDEL', KEYS[3], name)
  end
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
  redis.call('PEXPIRE', KEYS[4], ARGV[4])
end
return 1`),
		// KEYS: waiting, due, dead, died, health. ARGV: name, the dead letter as read before, the delivery. It returns
		// 0 if the letter has gone.
		replay: goredis.NewScript(`
if redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[2] then return 0 end
if redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) == 1 then redis.call('HINCRBY', KEYS[5], 'pending', 1) end
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
return 1`),
		// KEYS: waiting, due, dead, died, health, seen. ARGV: name.
		remove: goredis.NewScript(`
if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 and redis.call('HINCRBY', KEYS[5], 'pending', -1) <= 0 then
  redis.call('HDEL', KEYS[5], 'pending')
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('DEL', KEYS[6])
return 1`),
		// KEYS: fence. ARGV: the fence's field and ms.
		erased: goredis.NewScript(redisstore.Fence + `
erase_once(KEYS[1], ARGV[1], ARGV[2])
return 1`),
		// KEYS: health, endpoints. ARGV: id, the reason of a failure or an empty text. It returns whether the endpoint
		// begins to fail or recovers. It stores no health of a deleted endpoint.
		heard: goredis.NewScript(scriptNow + `
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return '' end
local at = string.format('%.0f', now)
if ARGV[2] == '' then
  redis.call('HSET', KEYS[1], 'success', at)
  return redis.call('HDEL', KEYS[1], 'since', 'failures') > 0 and 'recovers' or ''
end
redis.call('HSET', KEYS[1], 'failure', at, 'error', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'failures', 1)
return redis.call('HSETNX', KEYS[1], 'since', at) == 1 and 'fails' or ''`),
	}
}
