// Package mem0state stores in Redis the state of mem0's API that no other store has. This is the events of
// additions, the requested exports, the memories of a user's last search, and the list of users. An erasure removes
// and counts all of it.
//
// Keys of a tenant T (H is a hash of the user's id, see redisstore.Hash), after the prefix "mneme:mem0:":
//
//	{T}:event:ID         hash: the event as JSON ("event"), and whether it is done ("done"); a week
//	{T}:events           sorted set of the tenant's event ids by time in ms, the newest 10,000; a week
//	{T}:events:H         the same of a user
//	{T}:export:ID        the request of an export as JSON; a week
//	{T}:exports:H        set of the ids of exports that are about a user; a week
//	{T}:recall:H         the last recall of a user: its id and the ids of its memories, as JSON; a day
//	{T}:users            sorted set of users by the time of the last addition, in ms
//	{T}:users:first      the same by the time of the first addition
//	{T}:erased:H         the erasures of a user, for a week (see redisstore.Fence)
package mem0state

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

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

// Count returns the size of a user's stored state: events, exports, the last recall, and the entries in the
// tenant's lists of users. With the id of an erasure, it counts only the part that this erasure must still remove.
func (s *Store) Count(ctx context.Context, scope memory.Scope, erasure string) (int, error) {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return 0, err
	}
	var kept []*goredis.IntCmd
	err := s.Pipelined(ctx, "count", func(ctx context.Context, p goredis.Pipeliner) {
		kept = []*goredis.IntCmd{
			p.ZCard(ctx, s.UserKey(scope, "events")), p.SCard(ctx, s.UserKey(scope, "exports")),
			p.Exists(ctx, s.UserKey(scope, "recall")),
		}
	})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, c := range kept {
		n += int(c.Val())
	}
	for _, list := range []string{"users:first", "users"} {
		err := s.Do(ctx, "count", func(ctx context.Context) error {
			return s.Redis.ZScore(ctx, s.Key(scope.Tenant, list), scope.User).Err()
		})
		switch {
		case err == nil:
			n++
		case !errors.Is(err, goredis.Nil):
			return 0, err
		}
	}
	return n, nil
}

// Erase removes everything that is kept of a user. It does so once for the id of an erasure, and each time for an empty
// id.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, erasure string) error {
	return redisstore.EraseListed(ctx, "erase", func() (bool, error) { return s.eraseListed(ctx, scope, erasure) })
}

// eraseListed reads the user's keys and removes them. It returns false if a write came in between.
func (s *Store) eraseListed(ctx context.Context, scope memory.Scope, erasure string) (bool, error) {
	var events, exports *goredis.StringSliceCmd
	err := s.Pipelined(ctx, "list what to erase", func(ctx context.Context, p goredis.Pipeliner) {
		events = p.ZRange(ctx, s.UserKey(scope, "events"), 0, -1)
		exports = p.SMembers(ctx, s.UserKey(scope, "exports"))
	})
	if err != nil {
		return false, err
	}
	keys := []string{
		s.FenceKey(scope), s.UserKey(scope, "events"), s.UserKey(scope, "exports"), s.UserKey(scope, "recall"),
		s.Key(scope.Tenant, "events"), s.Key(scope.Tenant, "users:first"), s.Key(scope.Tenant, "users"),
	}
	args := []any{redisstore.FenceField(erasure), redisstore.KeepFenceMs(), scope.User, len(events.Val()),
		len(exports.Val())}
	for _, id := range events.Val() {
		keys, args = append(keys, s.eventKey(scope.Tenant, id)), append(args, id)
	}
	for _, id := range exports.Val() {
		keys, args = append(keys, s.exportKey(scope.Tenant, id)), append(args, id)
	}
	out, err := s.Eval(ctx, "erase", s.erase, keys, args...)
	if err != nil {
		return false, err
	}
	n, err := out.Int()
	return n == 1, err
}
