package quota

// The scripts use the time of Redis, so the clocks of replicas do not matter. They write numbers in full, because Lua
// would round them. Each runs as a whole or not at all. Data for a few seconds is sent to Redis's replicas and not to
// its append-only file. Otherwise a request would wait for the disk if each write is synced.

// admitSource is the generic cell rate algorithm over several limits, all or none. A call that one limit refuses
// takes nothing from the others. KEYS hold the limits' theoretical arrival times, in µs. ARGV are the cost of the
// call, then interval in µs and burst of each limit. It returns 1 if the call is within all limits, else 0, and then
// the free rest of each limit in µs. A cost above a burst is always refused. Keys live longer than necessary, because
// an expiry is written to the append-only file, too.
const admitSource = `
redis.set_repl(redis.REPL_REPLICA)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local cost, within = tonumber(ARGV[1]), 1
local free = {}
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local arrival = math.max(tonumber(redis.call('GET', key) or 0), now)
  free[i] = now + interval * burst - arrival
  if free[i] < cost * interval then
    within = 0
  end
end
local answer = {within}
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  if within == 1 then
    free[i] = free[i] - cost * interval
    local wait = interval * burst - free[i]
    redis.call('SET', key, string.format('%.0f', now + wait), 'PX', string.format('%.0f', math.ceil(wait / 1000) + 600000))
  end
  answer[i + 1] = free[i]
end
return answer`

// leaseSource takes or renews a lease. KEYS are sorted sets of leases by their end, in ms. ARGV are the lease's id,
// its lifetime in ms, and the maximum number of leases per set, empty for no limit. It returns 0, or the number of
// the first full set; then it takes nothing.
const leaseSource = `
redis.set_repl(redis.REPL_REPLICA)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  local most = tonumber(ARGV[2 + i])
  if most and redis.call('ZCARD', key) >= most then
    return {i}
  end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2])
end
return {0}`
