package webhooks

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

var _ redisstore.Erasable = (*Store)(nil)

// scanned is the approximate number of deliveries per read.
const scanned = 500

// Count implements redisstore.Erasable. It counts waiting deliveries and dead letters, without announcements of an
// erasure.
func (s *Store) Count(ctx context.Context, scope memory.Scope, erasure string) (n int, err error) {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return 0, err
	}
	err = s.about(ctx, scope, func(_ context.Context, names []string) error { n += len(names); return nil })
	return n, err
}

// Erase implements redisstore.Erasable.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, erasure string) error {
	if done, err := s.Erased(ctx, scope, erasure); err != nil || done {
		return err
	}
	return s.Drop(ctx, scope, erasure)
}

// Drop removes deliveries and dead letters about a user, except announcements of an erasure, and records the erasure.
// A change that comes again later is delivered again. A consumer that reads changes in order then reaches the erasure
// again, and drops the change again.
func (s *Store) Drop(ctx context.Context, scope memory.Scope, erasure string) error {
	err := s.about(ctx, scope, func(ctx context.Context, names []string) error {
		return s.remove(ctx, scope.Tenant, names)
	})
	if err != nil {
		return err
	}
	_, err = s.Eval(ctx, "note an erasure", s.scripts.erased, []string{s.FenceKey(scope)}, redisstore.FenceField(erasure),
		redisstore.KeepFenceMs())
	return err
}

// about calls do with the names of the deliveries and dead letters about a user, except announcements of an erasure.
// It calls do for each page of a list. A delivery that moves between the lists meanwhile is found in one of them. An
// attempt moves it from the waiting to the dead, and a replay moves it back.
func (s *Store) about(
	ctx context.Context, scope memory.Scope, do func(ctx context.Context, names []string) error,
) error {
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
		var names []string
		err := s.each(ctx, list, func(name, delivery string) error {
			d, err := parse(delivery)
			if err != nil || d.User != user || d.Type == changeevent.UserErased || seen[name] {
				return nil
			}
			seen[name] = true
			if names = append(names, name); len(names) < scanned {
				return nil
			}
			err, names = do(ctx, names), nil
			return err
		})
		if err == nil && len(names) > 0 {
			err = do(ctx, names)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls do with the name and the text of each delivery of a list.
func (s *Store) each(ctx context.Context, list string, do func(name, delivery string) error) error {
	for cursor := uint64(0); ; {
		var found []string
		err := s.Do(ctx, "read deliveries", func(ctx context.Context) (err error) {
			found, cursor, err = s.Redis.HScan(ctx, list, cursor, "", scanned).Result()
			return err
		})
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(found); i += 2 {
			if err := do(found[i], found[i+1]); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

// remove removes deliveries, wherever they are, in one round trip.
func (s *Store) remove(ctx context.Context, tenant string, names []string) error {
	return s.Pipelined(ctx, "remove deliveries", func(ctx context.Context, p goredis.Pipeliner) {
		for _, name := range names {
			id := endpointOf(name)
			s.scripts.remove.Eval(ctx, p, []string{
				s.waitingKey(tenant), s.dueKey(tenant), s.deadKey(tenant, id), s.diedKey(tenant, id), s.healthKey(tenant, id),
				s.seenKey(tenant, name),
			}, name)
		}
	})
}
