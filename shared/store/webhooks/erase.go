package webhooks

import (
	"context"

	"github.com/mneme-memory/mneme/shared/event"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

var _ redisstore.Erasable = (*Store)(nil)

// scanned is how many deliveries are read at once, about.
const scanned = 500

// Count implements redisstore.Erasable: it counts deliveries that wait and dead letters, without those that announce an erasure.
func (s *Store) Count(ctx context.Context, scope memory.Scope, erasure string) (n int, err error) {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return 0, err
	}
	err = s.about(ctx, scope, func(context.Context, string) error { n++; return nil })
	return n, err
}

// Erase implements redisstore.Erasable.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, erasure string) error {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return err
	}
	return s.Drop(ctx, scope, erasure)
}

// Drop removes deliveries and dead letters about a user, without those that announce an erasure, and notes the erasure. A change that comes
// again after that is delivered again: whoever reads changes in their order meets the erasure after it, and drops it again.
func (s *Store) Drop(ctx context.Context, scope memory.Scope, erasure string) error {
	err := s.about(ctx, scope, func(ctx context.Context, name string) error {
		id := endpointOf(name)
		keys := []string{
			s.waitingKey(scope.Tenant), s.dueKey(scope.Tenant), s.deadKey(scope.Tenant, id), s.diedKey(scope.Tenant, id),
			s.healthKey(scope.Tenant, id), s.seenKey(scope.Tenant, name),
		}
		_, err := s.Eval(ctx, "remove a delivery", s.scripts.remove, keys, name)
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.Eval(ctx, "note an erasure", s.scripts.erased, []string{s.FenceKey(scope)}, redisstore.FenceField(erasure),
		redisstore.KeepFenceMs())
	return err
}

// about calls do with the name of each delivery and dead letter about a user that announces no erasure. A delivery that moves between the
// lists meanwhile is found in one of them: an attempt moves it from the waiting to the dead, a replay back.
func (s *Store) about(ctx context.Context, scope memory.Scope, do func(ctx context.Context, name string) error) error {
	endpoints, err := s.Endpoints(ctx, scope.Tenant)
	if err != nil {
		return err
	}
	lists := []string{s.waitingKey(scope.Tenant)}
	for id := range endpoints {
		lists = append(lists, s.deadKey(scope.Tenant, id))
	}
	lists = append(lists, s.waitingKey(scope.Tenant))
	seen, user := map[string]bool{}, redisstore.Hash(scope.User)
	for _, list := range lists {
		for cursor := uint64(0); ; {
			var found []string
			err := s.Do(ctx, "find what is about a user", func(ctx context.Context) (err error) {
				found, cursor, err = s.Redis.HScan(ctx, list, cursor, "", scanned).Result()
				return err
			})
			if err != nil {
				return err
			}
			for i := 0; i+1 < len(found); i += 2 {
				d, err := parse(found[i+1])
				if err != nil || d.User != user || d.Type == event.UserErased || seen[found[i]] {
					continue
				}
				seen[found[i]] = true
				if err := do(ctx, found[i]); err != nil {
					return err
				}
			}
			if cursor == 0 {
				break
			}
		}
	}
	return nil
}
