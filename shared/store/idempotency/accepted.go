package idempotency

import (
	"context"
	"encoding/base64"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// The store keeps the ids of accepted turns, sessions and erasures for a while. They separate a pending item from an
// unknown one, before the services behind the gateway have either. A set for each user and day holds a few bytes of the
// hash of each id.

// Accepted is a kind of accepted item.
type Accepted string

// The kinds.
const (
	Turn    Accepted = "turn"
	Session Accepted = "session"
	Erasure Accepted = "erasure"

	// owned is the id of a turn that is known together with said, a hash of its text.
	owned Accepted = "turn-id"
	said  Accepted = "turn-said"
)

// Kinds of sets. An erasure of the user renames the first to the second, whose answers it removes, and removes the
// third; the last holds the erasures themselves.
const (
	answersSets  = "answers"
	erasingSets  = "erasing"
	acceptedSets = "accepted"
	erasureSets  = "erasures"
)

// memberBytes is how much of a hash is kept. Two ids of a user and a day that share it are taken for each other, which
// would need billions.
const memberBytes = 8

// NoteTurns records accepted turns of a session with their texts. token comes from Reused. If the user was erased since
// then, NoteTurns records nothing.
func (s *Store) NoteTurns(
	ctx context.Context, scope memory.Scope, token redisstore.Token, session string, turns []memory.Turn,
) error {
	args := []any{string(token), (s.o.Keep + redisstore.Day).Milliseconds(), member(Session, session)}
	for _, t := range turns {
		args = append(args, member(Turn, t.ID), member(owned, t.ID), member(said, saying(session, t)))
	}
	out, err := s.run(ctx, "record accepted items", s.note, []string{s.FenceKey(scope), s.dates(acceptedSets, scope)[0]},
		args...)
	if err == nil && out[0] == erased {
		err = redisstore.ErrErased
	}
	return err
}

// NoteErasure notes that an erasure of a user was accepted.
func (s *Store) NoteErasure(ctx context.Context, scope memory.Scope, id string) error {
	set := s.dates(erasureSets, scope)[0]
	return s.Pipelined(ctx, "note an erasure", func(ctx context.Context, p goredis.Pipeliner) {
		p.SAdd(ctx, set, member(Erasure, id))
		p.Expire(ctx, set, s.o.Keep+redisstore.Day)
	})
}

// saying tells a turn from another one with its id.
func saying(session string, t memory.Turn) string {
	return string(redisstore.Digest(t.ID, session, t.Text))
}

// Reused returns the places of turns whose id was accepted for another session or text, as far back as answers are
// kept. The token is for NoteTurns.
func (s *Store) Reused(
	ctx context.Context, scope memory.Scope, session string, turns []memory.Turn,
) (places []int, token redisstore.Token, err error) {
	sets, asked := s.dates(acceptedSets, scope), make([]any, 0, 2*len(turns))
	for _, t := range turns {
		asked = append(asked, member(owned, t.ID), member(said, saying(session, t)))
	}
	found := make([]*goredis.BoolSliceCmd, len(sets))
	var read *goredis.SliceCmd
	err = s.Pipelined(ctx, "look up accepted items", func(ctx context.Context, p goredis.Pipeliner) {
		read = redisstore.ReadToken(ctx, p, s.FenceKey(scope))
		for i := 0; i < len(sets) && len(asked) > 0; i++ {
			found[i] = p.SMIsMember(ctx, sets[i], asked...)
		}
	})
	if err != nil {
		return nil, "", err
	}
	for i := range turns {
		known, same := false, false
		for _, f := range found {
			known, same = known || f.Val()[2*i], same || f.Val()[2*i+1]
		}
		if known && !same {
			places = append(places, i)
		}
	}
	return places, redisstore.TokenOf(read), nil
}

// Knows reports whether something of a user was accepted, as far back as answers are kept.
func (s *Store) Knows(ctx context.Context, scope memory.Scope, kind Accepted, id string) (bool, error) {
	sets := s.dates(acceptedSets, scope)
	if kind == Erasure {
		sets = s.dates(erasureSets, scope)
	}
	var found []*goredis.BoolCmd
	err := s.Pipelined(ctx, "look up accepted items", func(ctx context.Context, p goredis.Pipeliner) {
		for _, set := range sets {
			found = append(found, p.SIsMember(ctx, set, member(kind, id)))
		}
	})
	if err != nil {
		return false, err
	}
	for _, f := range found {
		if f.Val() {
			return true, nil
		}
	}
	return false, nil
}

// dates are the sets of a kind of all days that are kept, today's first.
func (s *Store) dates(kind string, scope memory.Scope) []string {
	out := redisstore.Dates(s.o.Now(), s.o.Keep)
	for i, date := range out {
		out[i] = s.key(kind, scope) + ":" + date
	}
	return out
}

// key returns the name of a user's set.
func (s *Store) key(kind string, scope memory.Scope) string {
	user := base64.RawURLEncoding.EncodeToString(redisstore.Digest(scope.Tenant, scope.User))
	return s.Key(scope.Tenant, kind+":"+user)
}

func member(kind Accepted, id string) string {
	return string(redisstore.Digest(string(kind), id)[:memberBytes])
}

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
