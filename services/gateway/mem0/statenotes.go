package mem0

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
)

// ofMemory begins the name of a note about a memory; others are about an event, and named by it.
const ofMemory = "memory:"

// eventOfTurn is the event that a turn is of, if the turn came over this API.
func eventOfTurn(turn string) (id string, ok bool) {
	at := strings.LastIndexByte(turn, '-')
	if at < 0 || uuid.Validate(turn[:at]) != nil {
		return "", false
	}
	return turn[:at], true
}

// note keeps a note about an event.
func (s *State) note(ctx context.Context, scope memory.Scope, id string, n note) error {
	body, err := encoded(n)
	if err != nil || n.empty() {
		return err
	}
	return s.in(ctx, "keep a note", func(ctx context.Context) error { return s.redis.HSet(ctx, s.of(scope, "notes"), id, body).Err() })
}

// annotate has metadata take the place of what was noted of a memory.
func (s *State) annotate(ctx context.Context, scope memory.Scope, id string, metadata map[string]any) error {
	body, err := encoded(note{Metadata: metadata, Updated: s.o.Now().UTC()})
	if err != nil {
		return err
	}
	return s.in(ctx, "keep metadata", func(ctx context.Context) error {
		return s.redis.HSet(ctx, s.of(scope, "notes"), ofMemory+id, body).Err()
	})
}

// notesOf returns what was noted of memories of a user: of what they were made from, the last said winning, and of themselves. Where they
// were shown by a recall, that is kept at the same time.
func (s *State) notesOf(ctx context.Context, scope memory.Scope, ms []*mnemev1.Memory, by ...recalled) ([]note, error) {
	names := map[string]bool{}
	for _, m := range ms {
		names[ofMemory+m.GetId()] = true
		for _, turn := range m.GetSourceTurnIds() {
			if id, ok := eventOfTurn(turn); ok {
				names[id] = true
			}
		}
	}
	kept, err := s.notes(ctx, scope, slices.Collect(maps.Keys(names)), by)
	if err != nil {
		return nil, err
	}
	out := make([]note, len(ms))
	for i, m := range ms {
		for _, turn := range m.GetSourceTurnIds() {
			if id, ok := eventOfTurn(turn); ok {
				out[i] = out[i].with(kept[id])
				if m.GetId() == memory.DeriveID(scope, []string{turn}, 0) { // and not what was formed of the turn later
					out[i].ID, out[i].Created = kept[id].ID, kept[id].Created
				}
			}
		}
		if own, ok := kept[ofMemory+m.GetId()]; ok {
			out[i].Metadata, out[i].Updated = own.Metadata, own.Updated
		}
	}
	return out, nil
}

// with is a note with what another says, too.
func (n note) with(o note) note {
	if len(o.Metadata) > 0 {
		n.Metadata = maps.Clone(n.Metadata)
		if n.Metadata == nil {
			n.Metadata = map[string]any{}
		}
		maps.Copy(n.Metadata, o.Metadata)
	}
	if o.Agent != "" {
		n.Agent = o.Agent
	}
	if o.App != "" {
		n.App = o.App
	}
	return n
}

// notes returns those notes of a user that there are, by name, and keeps recalls of the user.
func (s *State) notes(ctx context.Context, scope memory.Scope, names []string, by []recalled) (map[string]note, error) {
	var kept *goredis.SliceCmd
	shown := make([]string, len(by))
	for i, r := range by {
		var err error
		if shown[i], err = encoded(r); err != nil {
			return nil, err
		}
	}
	if len(names)+len(by) == 0 {
		return nil, nil
	}
	err := s.pipelined(ctx, "read notes", func(ctx context.Context, p goredis.Pipeliner) {
		if len(names) > 0 {
			kept = p.HMGet(ctx, s.of(scope, "notes"), names...)
		}
		for _, body := range shown {
			p.Set(ctx, s.of(scope, "recall"), body, keepRecalls)
		}
	})
	if err != nil || kept == nil {
		return nil, err
	}
	out := map[string]note{}
	for i, v := range kept.Val() {
		body, ok := v.(string)
		if !ok {
			continue
		}
		var n note
		if err := decode(body, &n); err != nil {
			return nil, err
		}
		out[names[i]] = n
	}
	return out, nil
}

// seen is a user that was given something to remember over this API.
type seen struct {
	name        string
	first, last time.Time
}

// users returns a page of the users of a tenant, those that were last first, and how many there are. Where the scope names a user, that
// one alone is looked at.
func (s *State) users(ctx context.Context, scope memory.Scope, p page) ([]seen, int, error) {
	if scope.User != "" {
		return s.user(ctx, scope, p)
	}
	members, count, err := s.newest(ctx, s.key(scope.Tenant, "users"), p)
	if err != nil || len(members) == 0 {
		return nil, count, err
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i], _ = m.Member.(string)
	}
	var first []float64
	err = s.in(ctx, "read users", func(ctx context.Context) (err error) {
		first, err = s.redis.ZMScore(ctx, s.key(scope.Tenant, "users:first"), names...).Result()
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]seen, len(members))
	for i, m := range members {
		out[i] = seen{names[i], timeOfScore(first[i]), timeOfScore(m.Score)}
	}
	return out, count, nil
}

// user is users for one.
func (s *State) user(ctx context.Context, scope memory.Scope, p page) ([]seen, int, error) {
	var first, last *goredis.FloatCmd
	err := s.pipelined(ctx, "read a user", func(ctx context.Context, pipe goredis.Pipeliner) {
		first = pipe.ZScore(ctx, s.key(scope.Tenant, "users:first"), scope.User)
		last = pipe.ZScore(ctx, s.key(scope.Tenant, "users"), scope.User)
	})
	if errors.Is(err, goredis.Nil) {
		return nil, 0, nil
	}
	if err != nil || p.number > 1 {
		return nil, 1, err
	}
	return []seen{{scope.User, timeOfScore(first.Val()), timeOfScore(last.Val())}}, 1, nil
}

// knows reports whether a user was given something to remember over this API.
func (s *State) knows(ctx context.Context, scope memory.Scope) (bool, error) {
	_, count, err := s.user(ctx, scope, page{1, 1})
	return count > 0, err
}

// recalled is a recall, with the memories that it showed, in order.
type recalled struct {
	ID  string   `json:"id"`
	IDs []string `json:"ids"`
}

// shown returns the last recall of a user; none where it is not known any more, or has taught.
func (s *State) shown(ctx context.Context, scope memory.Scope) (recalled, error) {
	var body string
	err := s.in(ctx, "read a recall", func(ctx context.Context) (err error) {
		body, err = s.redis.Get(ctx, s.of(scope, "recall")).Result()
		return err
	})
	if errors.Is(err, goredis.Nil) {
		return recalled{}, nil
	}
	if err != nil {
		return recalled{}, err
	}
	var out recalled
	return out, decode(body, &out)
}

// taught forgets the last recall of a user: it teaches once.
func (s *State) taught(ctx context.Context, scope memory.Scope) error {
	return s.in(ctx, "forget a recall", func(ctx context.Context) error { return s.redis.Del(ctx, s.of(scope, "recall")).Err() })
}

// keepExport keeps what an export of users is of.
func (s *State) keepExport(ctx context.Context, tenant, id string, users []string, chosen fields) error {
	body, err := encoded(chosen)
	if err != nil {
		return err
	}
	return s.pipelined(ctx, "keep an export", func(ctx context.Context, p goredis.Pipeliner) {
		p.Set(ctx, s.key(tenant, "export:"+id), body, keepEvents)
		for _, user := range users {
			list := s.of(memory.Scope{Tenant: tenant, User: user}, "exports")
			p.SAdd(ctx, list, id)
			p.Expire(ctx, list, keepEvents)
		}
	})
}

// export returns what an export is of, if it is known.
func (s *State) export(ctx context.Context, tenant, id string) (fields, bool, error) {
	var body string
	err := s.in(ctx, "read an export", func(ctx context.Context) (err error) {
		body, err = s.redis.Get(ctx, s.key(tenant, "export:"+id)).Result()
		return err
	})
	if errors.Is(err, goredis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	out := fields{}
	return out, true, decode(body, &out)
}
