package idempotency

import "github.com/mneme-memory/mneme/shared/store/redisstore"

// Answers of scripts.
const (
	claimed   = "claimed"
	otherBody = "other"
	inFlight  = "in flight"
	answered  = "answered"
	erased    = "erased"
)

// A record is a hash. token identifies the process that carries the request out, request is its fingerprint, and
// answer is set at the end. Until then the record lives as long as the lease. If the user was erased, erased replaces
// the answer.

// beginSource claims a record for the token ARGV[1] and the request ARGV[2], for ARGV[3] ms, or returns why not.
// KEYS[2] is optional: the set of records of the user and day, kept for ARGV[4] ms. The client runs it again if the
// connection broke before the answer: a claim with the same token belongs to the caller.
const beginSource = `
local known = redis.call('HMGET', KEYS[1], 'request', 'answer', 'erased', 'token')
if known[1] then
  if known[4] == ARGV[1] and not known[2] then return {'` + claimed + `'} end
  if known[1] ~= ARGV[2] then return {'` + otherBody + `'} end
  if known[3] then return {'` + erased + `'} end
  if known[2] then return {'` + answered + `', known[2]} end
  return {'` + inFlight + `'}
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'request', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if KEYS[2] then
  redis.call('SADD', KEYS[2], KEYS[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return {'` + claimed + `'}`

// finishSource stores the answer ARGV[2] for ARGV[3] ms if the record still has the token. If the user was erased
// meanwhile, it only records that the request was carried out.
const finishSource = `
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return {'` + otherBody + `'} end
if redis.call('HEXISTS', KEYS[1], 'erased') == 0 then redis.call('HSET', KEYS[1], 'answer', ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'` + claimed + `'}`

// releaseSource removes the record if it still has the token.
const releaseSource = `
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {'` + claimed + `'}`

// dropSource removes the answers from the records KEYS[2] and on, and the records from the set KEYS[1].
const dropSource = `
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    redis.call('HDEL', KEYS[i], 'answer')
    redis.call('HSET', KEYS[i], 'erased', '1')
  end
  redis.call('SREM', KEYS[1], KEYS[i])
end
return {'` + claimed + `'}`

// noteSource adds the members ARGV[3] and on to the set KEYS[2] for ARGV[2] ms, unless the user was erased since the
// token ARGV[1]. KEYS[1] is the fence.
const noteSource = redisstore.Fence + `
if overtaken(KEYS[1], ARGV[1]) then return {'` + erased + `'} end
for i = 3, #ARGV do redis.call('SADD', KEYS[2], ARGV[i]) end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return {'` + claimed + `'}`

// eraseSource renames the ARGV[3] sets of records from KEYS[2] on to the KEYS that follow them, one by one, and
// removes the sets after those. KEYS[1] is the fence, ARGV[1] and ARGV[2] are its field and ms. It does nothing while
// a set with a new name exists.
const eraseSource = redisstore.Fence + `
if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return {'` + claimed + `'} end
local n = tonumber(ARGV[3])
for i = 2, 1 + n do
  if redis.call('EXISTS', KEYS[i + n]) == 1 then return {'` + inFlight + `'} end
end
erase_once(KEYS[1], ARGV[1], ARGV[2])
for i = 2, 1 + n do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], KEYS[i + n]) end
end
for i = 2 + 2 * n, #KEYS do redis.call('UNLINK', KEYS[i]) end
return {'` + claimed + `'}`
