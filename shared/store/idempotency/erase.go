package idempotency

import (
	"context"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

var _ redisstore.Erasable = (*Store)(nil)

// Count implements redisstore.Erasable. It counts answers to requests about a user, running requests, and ids of
// accepted objects.
func (s *Store) Count(ctx context.Context, scope memory.Scope, erasure string) (int, error) {
	done, err := s.Erased(ctx, scope, erasure)
	if err != nil {
		return 0, err
	}
	sets := s.dates(erasingSets, scope)
	if !done {
		sets = slices.Concat(sets, s.dates(answersSets, scope), s.dates(acceptedSets, scope))
	}
	var counts []*goredis.IntCmd
	err = s.Pipelined(ctx, "count answers", func(ctx context.Context, p goredis.Pipeliner) {
		for _, set := range sets {
			counts = append(counts, p.SCard(ctx, set))
		}
	})
	n := 0
	for _, c := range counts {
		n += int(c.Val())
	}
	return n, err
}

// Erase implements redisstore.Erasable. A hash of each finished request stays, so that a repeated request does not
// bring its text back. A running request keeps no answer.
func (s *Store) Erase(ctx context.Context, scope memory.Scope, erasure string) error {
	answers, erasing := s.dates(answersSets, scope), s.dates(erasingSets, scope)
	keys := slices.Concat([]string{s.FenceKey(scope)}, answers, erasing, s.dates(acceptedSets, scope))
	err := redisstore.EraseListed(ctx, s.Name, func() (bool, error) {
		if err := s.dropAnswers(ctx, erasing); err != nil { // sets of an interrupted erasure
			return false, err
		}
		out, err := s.run(ctx, "erase answers", s.erase, keys, redisstore.FenceField(erasure), redisstore.KeepFenceMs(),
			len(answers))
		return err == nil && out[0] == claimed, err
	})
	if err != nil {
		return err
	}
	return s.dropAnswers(ctx, erasing)
}

// dropBatch is the number of answers removed at a time, so that other calls to Redis do not wait.
const dropBatch = 500

// dropAnswers removes the answers from the records of sets.
func (s *Store) dropAnswers(ctx context.Context, sets []string) error {
	for _, set := range sets {
		if err := s.dropSet(ctx, set); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) dropSet(ctx context.Context, set string) error {
	var cursor uint64
	for {
		var records []string
		err := s.Do(ctx, "list answers", func(ctx context.Context) (err error) {
			records, cursor, err = s.Redis.SScan(ctx, set, cursor, "", dropBatch).Result()
			return err
		})
		if err != nil {
			return err
		}
		if len(records) > 0 {
			if _, err := s.run(ctx, "erase answers", s.drop, append([]string{set}, records...)); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}
