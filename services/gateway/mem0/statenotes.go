package mem0

import (
	"context"
	"maps"
	"slices"
	"strings"

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
	return s.Do(ctx, "keep a note", func(ctx context.Context) error { return s.redis.HSet(ctx, s.UserKey(scope, "notes"), id, body).Err() })
}

// annotate has metadata take the place of what was noted of a memory.
func (s *State) annotate(ctx context.Context, scope memory.Scope, id string, metadata map[string]any) error {
	body, err := encoded(note{Metadata: metadata, Updated: s.o.Now().UTC()})
	if err != nil {
		return err
	}
	return s.Do(ctx, "keep metadata", func(ctx context.Context) error {
		return s.redis.HSet(ctx, s.UserKey(scope, "notes"), ofMemory+id, body).Err()
	})
}

// notesOf returns what was noted of memories of a user: of what they were made from, the last said winning, and of themselves.
func (s *State) notesOf(ctx context.Context, scope memory.Scope, ms []*mnemev1.Memory) ([]note, error) {
	names := map[string]bool{}
	for _, m := range ms {
		names[ofMemory+m.GetId()] = true
		for _, turn := range m.GetSourceTurnIds() {
			if id, ok := eventOfTurn(turn); ok {
				names[id] = true
			}
		}
	}
	kept, err := s.notes(ctx, scope, slices.Collect(maps.Keys(names)))
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

// notes returns those notes of a user that there are, by name.
func (s *State) notes(ctx context.Context, scope memory.Scope, names []string) (map[string]note, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var kept *goredis.SliceCmd
	err := s.Do(ctx, "read notes", func(ctx context.Context) error {
		kept = s.redis.HMGet(ctx, s.UserKey(scope, "notes"), names...)
		return kept.Err()
	})
	if err != nil {
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
