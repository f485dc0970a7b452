package records

import "time"

// The scripts check the user's erasure and store the data in one step. KEYS[1] is the time of the user's last
// erasure. ARGV[1] is the start of the call or recall. Both are in ms. ARGV[2] is the retention in ms.

// appendSource stores a record. The further KEYS are the user's records, the tenant's users and the tenant's system
// messages. The further ARGV are the maximum number of records, the record, hash and name of the user, and hash and
// text of the system message.
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

// onceWithin is the time that a counted outcome is remembered. maxCounted in fareSource bounds the remembered
// outcomes of a user.
const onceWithin = 24 * time.Hour

// fareSource counts outcomes. The further KEYS are the user's records, the outcomes, and a sorted set of the
// counted recalls by time. The further ARGV are the time in ms that a counted recall is remembered, the recall, and
// the fields to increment.
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
