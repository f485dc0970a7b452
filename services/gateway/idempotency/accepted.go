package idempotency

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
)

// What was accepted is known for a while, so that a turn, a session or an erasure that is on its way can be told from one that never was:
// the services behind know neither. A set a user and day holds a few bytes of each one's hash.

// Accepted is a kind of what was accepted.
type Accepted string

// The kinds.
const (
	Turn    Accepted = "turn"
	Session Accepted = "session"
	Erasure Accepted = "erasure"

	// owned is a turn's id that is known together with said: what the turn says.
	owned Accepted = "turn-id"
	said  Accepted = "turn-said"
)

// day names sets.
const day = 24 * time.Hour

// memberBytes is how much of a hash is kept. Two of a user and a day that share it are taken for each other, which would need billions.
const memberBytes = 8

// Note notes that something of a user was accepted. An error says that it is not known.
func (s *Store) Note(ctx context.Context, scope memory.Scope, kind Accepted, ids ...string) error {
	members := make([]any, len(ids))
	for i, id := range ids {
		members[i] = member(kind, id)
	}
	return s.add(ctx, scope, members)
}

// NoteTurns notes that turns of a session were accepted, with what they say. An error says that they are not known.
func (s *Store) NoteTurns(ctx context.Context, scope memory.Scope, session string, turns []memory.Turn) error {
	members := []any{member(Session, session)}
	for _, t := range turns {
		members = append(members, member(Turn, t.ID), member(owned, t.ID), member(said, saying(session, t)))
	}
	return s.add(ctx, scope, members)
}

// saying is what tells a turn from another one with its id.
func saying(session string, t memory.Turn) string { return string(digest(t.ID, session, t.Text)) }

// Reused returns the place of the first of turns whose id was accepted for another session or text, as far back as answers are kept, and
// -1 where there is none.
func (s *Store) Reused(ctx context.Context, scope memory.Scope, session string, turns []memory.Turn) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	sets, asked := s.daySets("accepted", scope), make([]any, 0, 2*len(turns))
	for _, t := range turns {
		asked = append(asked, member(owned, t.ID), member(said, saying(session, t)))
	}
	found := make([]*goredis.BoolSliceCmd, len(sets))
	_, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for i, set := range sets {
			found[i] = p.SMIsMember(ctx, set, asked...)
		}
		return nil
	})
	if err != nil {
		return -1, fmt.Errorf("look up what was accepted: %w", err)
	}
	for i := range turns {
		known, same := false, false
		for _, f := range found {
			known, same = known || f.Val()[2*i], same || f.Val()[2*i+1]
		}
		if known && !same {
			return i, nil
		}
	}
	return -1, nil
}

func (s *Store) add(ctx context.Context, scope memory.Scope, members []any) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	set := s.daySet("accepted", scope, s.o.Now())
	_, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
		p.SAdd(ctx, set, members...)
		p.Expire(ctx, set, s.o.Keep+day)
		return nil
	})
	if err != nil {
		return fmt.Errorf("note what was accepted: %w", err)
	}
	return nil
}

// Knows reports whether something of a user was accepted, as far back as answers are kept. An error is a problem: it cannot be told.
func (s *Store) Knows(ctx context.Context, scope memory.Scope, kind Accepted, id string) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var found []*goredis.BoolCmd
	_, err := s.redis.Pipelined(asking, func(p goredis.Pipeliner) error {
		for _, set := range s.daySets("accepted", scope) {
			found = append(found, p.SIsMember(asking, set, member(kind, id)))
		}
		return nil
	})
	if err != nil {
		return false, s.fail(ctx, "what was accepted", err)
	}
	for _, f := range found {
		if f.Val() {
			return true, nil
		}
	}
	return false, nil
}

// Name says what is counted by Kept.
func (*Store) Name() string { return "answers of requests" }

// Kept counts the answers to requests about a user, and those under way. What was accepted is not counted: hashes of ids, which an erasure
// is among.
func (s *Store) Kept(ctx context.Context, scope memory.Scope) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	for _, set := range s.daySets("answers", scope) {
		of, err := s.redis.SCard(ctx, set).Result()
		if err != nil {
			return 0, s.fail(ctx, "count answers", err)
		}
		n += of
	}
	return n, nil
}

// Forget forgets what of a user was accepted, and what requests about the user were answered: that they were carried out stays
// known, so that one that is repeated does not bring back what it said.
func (s *Store) Forget(ctx context.Context, scope memory.Scope) error {
	for _, set := range s.daySets("answers", scope) {
		if err := s.dropAnswers(ctx, set); err != nil {
			return fmt.Errorf("forget answers: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.redis.Del(ctx, s.daySets("accepted", scope)...).Err(); err != nil {
		return fmt.Errorf("forget what was accepted: %w", err)
	}
	return nil
}

// dropBatch is how many answers are dropped at a time, so that others' calls to Redis do not wait.
const dropBatch = 500

// dropAnswers takes the answers from the records of a set.
func (s *Store) dropAnswers(ctx context.Context, set string) error {
	var cursor uint64
	for {
		asking, cancel := context.WithTimeout(ctx, s.o.Timeout)
		records, next, err := s.redis.SScan(asking, set, cursor, "", dropBatch).Result()
		cancel()
		if err != nil {
			return err
		}
		if len(records) > 0 {
			if _, err := s.run(ctx, s.drop, append([]string{set}, records...)); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// daySets are the sets of a kind of all days that are kept.
func (s *Store) daySets(kind string, scope memory.Scope) []string {
	now := s.o.Now()
	sets := []string{s.daySet(kind, scope, now)}
	for back := day; back < s.o.Keep+day; back += day {
		sets = append(sets, s.daySet(kind, scope, now.Add(-back)))
	}
	return sets
}

// daySet is the key of what is known of a user and a day: a kind of "accepted" or "answers".
func (s *Store) daySet(kind string, scope memory.Scope, at time.Time) string {
	user := base64.RawURLEncoding.EncodeToString(digest(scope.Tenant, scope.User))
	return name(s.o.Prefix, scope.Tenant, kind+":"+user+":"+at.UTC().Format(time.DateOnly))
}

func member(kind Accepted, id string) string { return string(digest(string(kind), id)[:memberBytes]) }
