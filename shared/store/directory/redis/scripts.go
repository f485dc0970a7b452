package redis

import goredis "github.com/redis/go-redis/v9"

// The scripts read no clock and no random number. They depend on their arguments alone, so a log that runs them again
// writes the same. Each runs as a whole or not at all.

// scripts holds the compiled scripts. They are sent by hash, and in full if the server does not know them.
type scripts struct {
	create, change, add, revoke, touch *goredis.Script
}

func newScripts() scripts {
	return scripts{
		create: goredis.NewScript(createSource), change: goredis.NewScript(changeSource),
		add: goredis.NewScript(addSource), revoke: goredis.NewScript(revokeSource), touch: goredis.NewScript(touchSource),
	}
}

// createSource: KEYS are the tenants and their revision. ARGV are the tenant's id and body, and a new revision. It
// returns 0 and changes nothing if the id is in use.
const createSource = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[3])
return 1
`

// changeSource: KEYS are the tenants and their revision. ARGV are the tenant's id, the body before the change, the
// new body, and a new revision. It returns 0 and changes nothing if the stored body differs.
const changeSource = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[4])
return 1
`

// Results of addSource other than 1.
const (
	exists  = 0
	tooMany = -1
)

// addSource: KEYS are the keys and the ids of the tenant. ARGV are the key's hash, id and body, and the maximum
// number of keys per tenant.
const addSource = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 or redis.call('HEXISTS', KEYS[2], ARGV[2]) == 1 then
  return 0
end
if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[4]) then
  return -1
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])
return 1
`

// revokeSource: KEYS are the keys, the ids of the tenant, and the last uses of keys. ARGV is the key's id. It returns
// 0 if the tenant has no such key.
const revokeSource = `
local hash = redis.call('HGET', KEYS[2], ARGV[1])
if not hash then
  return 0
end
redis.call('HDEL', KEYS[1], hash)
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], hash)
return 1
`

// touchSource: KEYS are the ids of the tenant, and the last uses of keys. ARGV are the key's id and a time in ms. It
// returns 0 and changes nothing if the tenant has no such key.
const touchSource = `
local hash = redis.call('HGET', KEYS[1], ARGV[1])
if not hash then
  return 0
end
local known = redis.call('HGET', KEYS[2], hash)
if not known or tonumber(known) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[2], hash, ARGV[2])
end
return 1
`
