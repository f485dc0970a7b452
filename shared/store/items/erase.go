package items

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

var _ redisstore.Erasable = (*Store)(nil)

// sessionKey holds the items of a session, and doneKey holds the result of a call. Both names contain hashes.
func (s *Store) sessionKey(scope memory.Scope, name string) string {
	return s.UserKey(scope, "session") + ":" + name
}

func (s *Store) doneKey(scope memory.Scope, name string) string {
	return s.UserKey(scope, "done") + ":" + name
}

// Count implements redisstore.Erasable. It counts items, including those in sessions, and results of calls. An
// expired item counts until its removal.
func (s *Store) Count(ctx context.Context, scope memory.Scope, erasure string) (int, error) {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return 0, err
	}
	sessions, err := s.sessions(ctx, scope)
	if err != nil {
		return 0, err
	}
	var counts []*goredis.IntCmd
	err = s.Pipelined(ctx, "count the items of a user", func(ctx context.Context, p goredis.Pipeliner) {
		counts = []*goredis.IntCmd{p.HLen(ctx, s.UserKey(scope, "items")), p.ZCard(ctx, s.UserKey(scope, "done"))}
		for _, name := range sessions {
			counts = append(counts, p.LLen(ctx, s.sessionKey(scope, name)))
		}
	})
	n := 0
	for _, c := range counts {
		n += int(c.Val())
	}
	return n, err
}

func (s *Store) sessions(ctx context.Context, scope memory.Scope) ([]string, error) {
	return s.Members(ctx, "list sessions", s.UserKey(scope, "sessions"))
}

// Erase implements redisstore.Erasable.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, erasure string) error {
	return redisstore.EraseListed(ctx, s.Name, func() (bool, error) { return s.eraseListed(ctx, scope, erasure) })
}

// eraseListed lists the stored data and removes it. It returns false if a write happened in between.
func (s *Store) eraseListed(ctx context.Context, scope memory.Scope, erasure string) (bool, error) {
	sessions, err := s.sessions(ctx, scope)
	if err != nil {
		return false, err
	}
	var calls []string
	err = s.Do(ctx, "list calls", func(ctx context.Context) (err error) {
		calls, err = s.Redis.ZRange(ctx, s.UserKey(scope, "done"), 0, -1).Result()
		return err
	})
	if err != nil {
		return false, err
	}
	user := redisstore.Hash(scope.User)
	keys := append(s.itemKeys(scope.Tenant, user), s.UserKey(scope, "sessions"), s.UserKey(scope, "done"),
		s.FenceKey(scope))
	args := []any{user, redisstore.FenceField(erasure), redisstore.KeepFenceMs(), len(sessions), len(calls)}
	for _, name := range sessions {
		keys, args = append(keys, s.sessionKey(scope, name)), append(args, name)
	}
	for _, name := range calls {
		keys, args = append(keys, s.doneKey(scope, name)), append(args, name)
	}
	out, err := s.Eval(ctx, "erase a user", s.scripts.erase, keys, args...)
	if err != nil {
		return false, err
	}
	n, err := out.Int()
	return n == 1, err
}
