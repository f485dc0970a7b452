package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// Versions implements weights.Tenants.
func (s *Store) Versions(ctx context.Context, tenant string) ([]weights.Version, error) {
	bodies, err := s.client.HGetAll(ctx, s.tenantKeys(tenant).versions).Result()
	if err != nil {
		return nil, fmt.Errorf("read versions of weights: %w", err)
	}
	out := make([]weights.Version, 0, len(bodies))
	for field, body := range bodies {
		number, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read versions of weights: %w", err)
		}
		out = append(out, weights.Version{Number: number, Body: []byte(body)})
	}
	slices.SortFunc(out, func(a, b weights.Version) int { return cmp.Compare(b.Number, a.Number) })
	return out, nil
}

// PutTrace implements weights.Traces.
func (s *Store) PutTrace(ctx context.Context, scope memory.Scope, recallID string, trace []byte) error {
	keys, now, ttl := s.userKeys(scope), s.now(), s.limits.TraceTTL
	err := s.scripts.put.Run(ctx, s.client, []string{keys.traces, keys.order},
		recallID, trace, now.UnixMilli(), now.Add(-ttl).UnixMilli(), s.limits.Traces, ttl.Milliseconds()).Err()
	return fault.During("write trace of recall", err)
}

// Traces implements weights.Traces. A trace that expires between the two reads counts as expired.
func (s *Store) Traces(ctx context.Context, scope memory.Scope, recallIDs []string) ([][]byte, error) {
	out := make([][]byte, len(recallIDs))
	if len(recallIDs) == 0 {
		return out, nil
	}
	keys := s.userKeys(scope)
	pipe := s.client.Pipeline()
	bodies := pipe.HMGet(ctx, keys.traces, recallIDs...)
	times := make([]*goredis.FloatCmd, len(recallIDs))
	for i, id := range recallIDs {
		times[i] = pipe.ZScore(ctx, keys.order, id)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
		return nil, fmt.Errorf("read traces of recalls: %w", err)
	}
	if err := bodies.Err(); err != nil {
		return nil, fmt.Errorf("read traces of recalls: %w", err)
	}
	oldest := s.now().Add(-s.limits.TraceTTL).UnixMilli()
	for i, body := range bodies.Val() {
		at, err := times[i].Result()
		if err != nil && !errors.Is(err, goredis.Nil) {
			return nil, fmt.Errorf("read times of traces: %w", err)
		}
		if text, ok := body.(string); ok && err == nil && int64(at) > oldest {
			out[i] = []byte(text)
		}
	}
	return out, nil
}

// Erase implements weights.Traces. The two tags may be on two nodes of a cluster, hence two commands.
func (s *Store) Erase(ctx context.Context, scope memory.Scope) error {
	keys := s.userKeys(scope)
	pipe := s.client.Pipeline()
	pipe.Del(ctx, keys.traces, keys.order)
	pipe.Del(ctx, s.events(scope))
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("erase traces of recalls: %w", err)
	}
	return nil
}

// Count implements weights.Traces.
func (s *Store) Count(ctx context.Context, scope memory.Scope) (weights.Counts, error) {
	pipe := s.client.Pipeline()
	traces, events := pipe.HLen(ctx, s.userKeys(scope).traces), pipe.ZCard(ctx, s.events(scope))
	if _, err := pipe.Exec(ctx); err != nil {
		return weights.Counts{}, fmt.Errorf("count traces of recalls: %w", err)
	}
	return weights.Counts{Traces: int(traces.Val()), Events: int(events.Val())}, nil
}

type userKeys struct{ traces, order string }

func (s *Store) userKeys(scope memory.Scope) userKeys {
	tag := s.prefix + "{" + digest(scope.Key()) + "}:"
	return userKeys{tag + "traces", tag + "order"}
}
