package records

import "time"

// The scripts hold what is to be kept against the erasure of the user in one step with keeping it: KEYS[1] is when the user was erased
// lately, ARGV[1] when what is to be kept began, both in ms. ARGV[2] is how long it is kept, in ms.

// appendSource keeps a record. KEYS are then the user's records, the tenant's users and the tenant's system messages; ARGV how many records
// are kept, the record, hash and name of the user, hash and text of the system message.
const appendSource = `
if tonumber(ARGV[1]) <= tonumber(redis.call('GET', KEYS[1]) or '-1') then
  return 0
end
redis.call('RPUSH', KEYS[2], ARGV[4])
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[3]), -1)
redis.call('HSET', KEYS[3], ARGV[5], ARGV[6])
redis.call('HSETNX', KEYS[4], ARGV[7], ARGV[8])
for i = 2, 4 do
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return 1
`

// onceWithin is how long an outcome of a recall is known to be counted; maxCounted in fareSource bounds how many are known of a user.
const onceWithin = 24 * time.Hour

// fareSource counts outcomes. KEYS are then the user's records, the outcomes and a sorted set of what was counted, by its time; ARGV how
// long that is known in ms, the recall, and the fields that count one more.
const fareSource = `
local maxCounted = 10000
if redis.call('EXISTS', KEYS[2]) == 0 or tonumber(ARGV[1]) <= tonumber(redis.call('GET', KEYS[1]) or '-1') then
  return 0
end
for i = 5, #ARGV do
  if redis.call('ZADD', KEYS[4], 'NX', ARGV[1], ARGV[4] .. ':' .. ARGV[i]) == 1 then
    redis.call('HINCRBY', KEYS[3], ARGV[i], 1)
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', tonumber(ARGV[1]) - tonumber(ARGV[3])))
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -maxCounted - 1)
redis.call('PEXPIRE', KEYS[3], ARGV[2])
redis.call('PEXPIRE', KEYS[4], ARGV[3])
return 1
`
