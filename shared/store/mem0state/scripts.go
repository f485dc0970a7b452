package mem0state

import "github.com/mneme-memory/mneme/shared/store/redisstore"

// beginSource stores an event. KEYS: fence, event, events of the tenant, events of the user, users by their first
// event, users by their last event. ARGV: token, event, the event's id and time in ms, the time before which events
// expire, the retention of events in ms, the maximum per tenant, the user.
const beginSource = redisstore.Fence + `
if overtaken(KEYS[1], ARGV[1]) then return 0 end
redis.call('HSET', KEYS[2], 'event', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
for i = 3, 4 do
  redis.call('ZADD', KEYS[i], ARGV[4], ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', '(' .. ARGV[5])
  redis.call('PEXPIRE', KEYS[i], ARGV[6])
end
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -tonumber(ARGV[7]) - 1)
if not redis.call('ZSCORE', KEYS[5], ARGV[8]) then redis.call('ZADD', KEYS[5], ARGV[4], ARGV[8]) end
redis.call('ZADD', KEYS[6], ARGV[4], ARGV[8])
return 1`

// keepExportSource keeps an export. KEYS: export, then fence and exports of each user. ARGV: id, request, ms that it is
// kept, then the token of each user.
const keepExportSource = redisstore.Fence + `
for i = 2, #KEYS, 2 do
  if overtaken(KEYS[i], ARGV[3 + i / 2]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
for i = 3, #KEYS, 2 do
  redis.call('SADD', KEYS[i], ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[3])
end
return 1`

// keepRecallSource keeps a recall. KEYS: fence, recall. ARGV: token, recall, ms that it is kept.
const keepRecallSource = redisstore.Fence + `
if overtaken(KEYS[1], ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`

// whileKeptSource sets the field ARGV[1] of a hash that exists to ARGV[2].
const whileKeptSource = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`

// eraseSource removes all state of a user. KEYS: fence, events and exports of the user, recall, events of the
// tenant, users by their first event, users by their last event. The keys of each event and export follow. ARGV:
// field and ms of the fence, user, numbers of events and exports, then their names. If the lists have changed since
// they were read, it returns 0 and removes nothing.
const eraseSource = redisstore.Fence + `
if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 1 end
local events, exports = tonumber(ARGV[4]), tonumber(ARGV[5])
if redis.call('ZCARD', KEYS[2]) ~= events or redis.call('SCARD', KEYS[3]) ~= exports then return 0 end
for i = 1, events do
  if not redis.call('ZSCORE', KEYS[2], ARGV[5 + i]) then return 0 end
end
for i = 1, exports do
  if redis.call('SISMEMBER', KEYS[3], ARGV[5 + events + i]) == 0 then return 0 end
end
erase_once(KEYS[1], ARGV[1], ARGV[2])
for i = 1, events do redis.call('ZREM', KEYS[5], ARGV[5 + i]) end
redis.call('ZREM', KEYS[6], ARGV[3])
redis.call('ZREM', KEYS[7], ARGV[3])
for i = 2, 4 do redis.call('UNLINK', KEYS[i]) end
for i = 8, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1`
