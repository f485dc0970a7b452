package mem0state

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

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
