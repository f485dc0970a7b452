package idempotency

import goredis "github.com/redis/go-redis/v9"

// What scripts answer.
const (
	claimed   = "claimed"
	otherBody = "other"
	inFlight  = "in flight"
	answered  = "answered"
)

// A record is a hash: token is who carries the request out, request is what it was, answer is there once it was. Until then the record
// lives as long as the lease.

// beginScript claims a record for the token ARGV[1] and the request ARGV[2], for ARGV[3] ms, or says why not.
func beginScript() *goredis.Script {
	return goredis.NewScript(`
local known = redis.call('HMGET', KEYS[1], 'request', 'answer')
if known[1] then
  if known[1] ~= ARGV[2] then return {'` + otherBody + `'} end
  if known[2] then return {'` + answered + `', known[2]} end
  return {'` + inFlight + `'}
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'request', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'` + claimed + `'}`)
}

// finishScript keeps the answer ARGV[2] for ARGV[3] ms where the record is still the token's.
func finishScript() *goredis.Script {
	return goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return {'` + otherBody + `'} end
redis.call('HSET', KEYS[1], 'answer', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'` + claimed + `'}`)
}

// releaseScript removes the record where it is still the token's.
func releaseScript() *goredis.Script {
	return goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {'` + claimed + `'}`)
}
