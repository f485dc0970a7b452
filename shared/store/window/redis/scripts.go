package redis

import goredis "github.com/redis/go-redis/v9"

// The scripts take the keys of one user in the order of Window.keys:
//
//	KEYS[1] sorted set of the kept turns; score is the time in ms, the member is the rest of the
//	        time in ns (six digits) followed by the turn's id, so that the set's own order of ties is
//	        the order by time, then id
//	KEYS[2] hash from turn id to the same six digits followed by the turn as JSON, whose first
//	        fields are its head: its words, and the end of its keeping time, if any
//	KEYS[3] sorted set of retired ids; score is the turn's time in ms, so that ids too old to
//	        come back can be dropped
//	KEYS[4] the newest time in ms of all turns ever added
//
// They read no clock and no random number. They depend on their arguments alone, so a log that runs them again
// writes the same. Each runs as a whole or not at all.

// scripts holds the compiled scripts. They are sent by hash, and in full if the server does not know them.
type scripts struct {
	add, recent, retire, reinstate *goredis.Script
}

func newScripts() scripts {
	return scripts{
		add:    goredis.NewScript(addSource),
		recent: goredis.NewScript(recentSource),
		retire: goredis.NewScript(retireSource),

		reinstate: goredis.NewScript(reinstateSource),
	}
}

// headSource is the common part of the scripts. It reads the head of a body: the words of the turn, and the end of
// its keeping time in ms, or nil without one. A body without a head counts by its length. It reads all bodies by id
// at once, because a call costs more than the data.
const headSource = `
local function head(body)
  local words, til = string.match(body, '^%d%d%d%d%d%d{"words":(%d+),"until":(%-?%d+)')
  if not words then
    words = string.match(body, '^%d%d%d%d%d%d{"words":(%d+)')
  end
  return tonumber(words) or math.ceil(#body / 12), tonumber(til)
end

local function everything()
  local flat, out = redis.call('HGETALL', KEYS[2]), {}
  for i = 1, #flat, 2 do
    out[flat[i]] = flat[i + 1]
  end
  return out
end
`

// addSource: ARGV are the limits (words, age in ms, idle in ms). Then each turn has its id, ms, rest in ns, JSON with
// its head, and the end of its keeping time in ms, which may be empty.
const addSource = headSource + `
local turns, bodies, retired, mark = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local budget, age, idle = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

-- prolong has a turn that is in the window stay until a later time.
local function prolong(id, til)
  local body = redis.call('HGET', bodies, id)
  local words, before = head(body)
  if til == '' or (before and before >= tonumber(til)) then
    return
  end
  local tail = string.gsub(string.sub(body, 8), '^"words":%d+,', '')
  tail = string.gsub(tail, '^"until":%-?%d+,', '')
  redis.call('HSET', bodies, id, string.sub(body, 1, 6) .. string.format('{"words":%d,"until":%s,', words, til) .. tail)
end

local newest = tonumber(redis.call('GET', mark) or '')
for i = 4, #ARGV, 5 do
  local id, ms, rest, body, til = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  if redis.call('HEXISTS', bodies, id) == 1 then
    prolong(id, til)
  elseif not redis.call('ZSCORE', retired, id) then
    redis.call('HSET', bodies, id, rest .. body)
    redis.call('ZADD', turns, ms, rest .. id)
    if not newest or tonumber(ms) > newest then
      newest = tonumber(ms)
    end
  end
end

local function drop(member)
  redis.call('ZREM', turns, member)
  redis.call('HDEL', bodies, string.sub(member, 7))
end

if newest then
  redis.call('SET', mark, string.format('%.0f', newest))
  local tooOld = string.format('(%.0f', newest - age)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', turns, '-inf', tooOld)) do
    drop(member)
  end
  redis.call('ZREMRANGEBYSCORE', retired, '-inf', tooOld)
end

-- From the newest on, up to the first that does not fit: those that are kept have a budget to themselves.
local spent, some = {[true] = 0, [false] = 0}, {}
local members, all = redis.call('ZRANGE', turns, 0, -1), everything()
for i = #members, 1, -1 do
  local body = all[string.sub(members[i], 7)]
  if body then
    local words, til = head(body)
    local kept = til ~= nil
    if kept and til < newest then
      drop(members[i])
    else
      spent[kept] = spent[kept] + words
      if some[kept] and spent[kept] > budget then
        drop(members[i])
      end
      some[kept] = true
    end
  end
end

for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, idle)
end
return redis.call('ZCARD', turns)
`

// recentSource returns the JSON of the turns in order. ARGV is a time in ms, or empty. Turns kept until before that
// time are omitted. A body is missing only if a server short of memory evicted it; the others are still useful.
const recentSource = headSource + `
local at = tonumber(ARGV[1])
local out, all = {}, everything()
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local body = all[string.sub(member, 7)]
  if body then
    local _, til = head(body)
    if not (til and at and til < at) then
      table.insert(out, string.sub(body, 7))
    end
  end
end
return out
`

// retireSource: ARGV are idle in ms and the ids. An id outside the window was appended no later than the newest turn,
// so it gets the newest turn's time. If no turn was ever added, the id is kept as long as the window.
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

// reinstateSource removes the retired ids, and the turns that are kept for a time.
const reinstateSource = headSource + `
redis.call('DEL', KEYS[3])
local all = everything()
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local id = string.sub(member, 7)
  local body = all[id]
  if body then
    local _, til = head(body)
    if til then
      redis.call('ZREM', KEYS[1], member)
      redis.call('HDEL', KEYS[2], id)
    end
  end
end
return 0
`
