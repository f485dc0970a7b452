package idempotency

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Turns that were accepted are known for a while, so that a turn that is on its way can be told from one that was never put in: the bank
// knows neither. A set a user and day holds a few bytes of each turn's hash.

// day names sets.
const day = 24 * time.Hour

// turnBytes is how much of a turn's hash is kept. Turns of a user and a day that share it are taken for each other, which would need
// billions of them.
const turnBytes = 8

// NoteTurns notes that turns of a user were accepted. An error says that it is not known.
func (s *Store) NoteTurns(ctx context.Context, scope memory.Scope, turnIDs ...string) error {
	members := make([]any, len(turnIDs))
	for i, id := range turnIDs {
		members[i] = turnMember(id)
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	set := s.turnSet(scope, s.o.Now())
	_, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
		p.SAdd(ctx, set, members...)
		p.Expire(ctx, set, s.o.Keep+day)
		return nil
	})
	if err != nil {
		return fmt.Errorf("note accepted turns: %w", err)
	}
	return nil
}

// KnowsTurn reports whether a turn of a user was accepted, as far back as answers are kept. An error is a problem: it cannot be told.
func (s *Store) KnowsTurn(ctx context.Context, scope memory.Scope, turnID string) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var found []*goredis.BoolCmd
	_, err := s.redis.Pipelined(asking, func(p goredis.Pipeliner) error {
		for _, set := range s.turnSets(scope) {
			found = append(found, p.SIsMember(asking, set, turnMember(turnID)))
		}
		return nil
	})
	if err != nil {
		return false, s.fail(ctx, "accepted turns", err)
	}
	for _, f := range found {
		if f.Val() {
			return true, nil
		}
	}
	return false, nil
}

// Forget forgets what turns of a user were accepted.
func (s *Store) Forget(ctx context.Context, scope memory.Scope) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.redis.Del(ctx, s.turnSets(scope)...).Err(); err != nil {
		return fmt.Errorf("forget accepted turns: %w", err)
	}
	return nil
}

// turnSets are the sets of all days that are kept.
func (s *Store) turnSets(scope memory.Scope) []string {
	now := s.o.Now()
	sets := []string{s.turnSet(scope, now)}
	for back := day; back < s.o.Keep+day; back += day {
		sets = append(sets, s.turnSet(scope, now.Add(-back)))
	}
	return sets
}

func (s *Store) turnSet(scope memory.Scope, at time.Time) string {
	user := base64.RawURLEncoding.EncodeToString(digest(scope.Tenant, scope.User))
	return name(s.o.Prefix, scope.Tenant, "turns:"+user+":"+at.UTC().Format(time.DateOnly))
}

func turnMember(id string) string { return string(digest(id)[:turnBytes]) }
