package weaviate

import (
	"context"
	"fmt"
	"slices"

	"github.com/weaviate/weaviate-go-client/v5/weaviate/filters"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Get implements bank.Bank.
func (b *Bank) Get(ctx context.Context, scope memory.Scope, id string) (memory.Memory, error) {
	found, err := b.entriesByIDs(ctx, scope, []string{id})
	if err != nil {
		return memory.Memory{}, err
	}
	if len(found) == 0 {
		return memory.Memory{}, fmt.Errorf("%s: %w", id, bank.ErrNotFound)
	}
	return found[0], nil
}

func (b *Bank) entriesByIDs(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Memory, error) {
	results, err := b.readByIDs(ctx, scope, b.collections.memory(), ids, whole)
	if err != nil {
		return nil, err
	}
	return decodeAll(results, decodeEntry)
}

// List implements bank.Bank. A page begins with the rest of the entries recorded at the very
// time of the token, which one query cannot express together with those recorded later.
func (b *Bank) List(ctx context.Context, scope memory.Scope, o bank.ListOptions) (bank.Page, error) {
	o, token, err := o.Checked()
	if err != nil {
		return bank.Page{}, err
	}
	entries, err := b.sameTime(ctx, scope, o, token)
	if err != nil {
		return bank.Page{}, err
	}
	if len(entries) <= o.Limit {
		later, err := b.later(ctx, scope, o, token, o.Limit+1-len(entries))
		if err != nil {
			return bank.Page{}, err
		}
		entries = append(entries, later...)
	}
	if len(entries) <= o.Limit {
		return bank.Page{Memories: entries}, nil
	}
	entries = entries[:o.Limit]
	return bank.Page{Memories: entries, Next: bank.TokenAfter(entries[o.Limit-1]).String()}, nil
}

// sameTime returns the first entries, at most one more than the limit, that were recorded at the
// token's time and come after it.
func (b *Bank) sameTime(ctx context.Context, scope memory.Scope, o bank.ListOptions, token bank.PageToken) ([]memory.Memory, error) {
	if token.IsZero() {
		return nil, nil
	}
	at := filters.Where().WithPath([]string{propRecordedAt}).WithOperator(filters.Equal).WithValueDate(token.RecordedAt)
	results, err := b.read(ctx, scope, b.collections.memory(), only(propEntryID), append(inStatus(o.Statuses), at)...)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range results {
		if id := open(r).text(propEntryID); id > token.ID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	entries, err := b.entriesByIDs(ctx, scope, ids[:min(len(ids), o.Limit+1)])
	slices.SortFunc(entries, bank.ByRecorded)
	return entries, err
}

// later returns the first entries recorded after the token's time.
func (b *Bank) later(ctx context.Context, scope memory.Scope, o bank.ListOptions, token bank.PageToken, limit int) ([]memory.Memory, error) {
	where := inStatus(o.Statuses)
	if !token.IsZero() {
		where = append(where, filters.Where().WithPath([]string{propRecordedAt}).WithOperator(filters.GreaterThan).WithValueDate(token.RecordedAt))
	}
	results, err := b.read(ctx, scope, b.collections.memory(), func(req *pb.SearchRequest) {
		req.Limit = uint32(limit)
		req.SortBy = []*pb.SortBy{{Ascending: true, Path: []string{propRecordedAt}}, {Ascending: true, Path: []string{propEntryID}}}
	}, where...)
	if err != nil {
		return nil, err
	}
	return decodeAll(results, decodeEntry)
}

// History implements bank.Bank. It follows the chain in both directions, one query for each generation.
func (b *Bank) History(ctx context.Context, scope memory.Scope, id string) ([]memory.Memory, error) {
	first, err := b.Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	connected := map[string]memory.Memory{id: first}
	for frontier := []memory.Memory{first}; len(frontier) > 0; {
		neighbours, err := b.neighbours(ctx, scope, frontier)
		if err != nil {
			return nil, err
		}
		frontier = nil
		for _, m := range neighbours {
			if _, known := connected[m.ID]; !known {
				connected[m.ID] = m
				frontier = append(frontier, m)
			}
		}
	}
	versions := make([]memory.Memory, 0, len(connected))
	for _, m := range connected {
		versions = append(versions, m)
	}
	slices.SortFunc(versions, bank.ByVersion)
	return versions, nil
}

// neighbours returns the direct predecessors and successors of entries.
func (b *Bank) neighbours(ctx context.Context, scope memory.Scope, entries []memory.Memory) ([]memory.Memory, error) {
	var ids, before []string
	for _, m := range entries {
		ids = append(ids, m.ID)
		before = append(before, m.Predecessors...)
	}
	out, err := b.entriesByIDs(ctx, scope, before)
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(ids, idsPerQuery) {
		results, err := b.read(ctx, scope, b.collections.memory(), whole, anyOf(propPredecessors, chunk))
		if err != nil {
			return nil, err
		}
		after, err := decodeAll(results, decodeEntry)
		if err != nil {
			return nil, err
		}
		out = append(out, after...)
	}
	return out, nil
}

// Turns implements bank.Bank.
func (b *Bank) Turns(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Turn, error) {
	if err := bank.CheckScope(scope); err != nil {
		return nil, err
	}
	results, err := b.readByIDs(ctx, scope, b.collections.turn(), unique(ids), whole)
	if err != nil {
		return nil, err
	}
	return decodeAll(results, decodeTurn)
}

// Session implements bank.Bank.
func (b *Bank) Session(ctx context.Context, scope memory.Scope, sessionID string) (memory.SessionRecord, bool, error) {
	results, err := b.readByIDs(ctx, scope, b.collections.session(), []string{sessionID}, whole)
	if err != nil || len(results) == 0 {
		return memory.SessionRecord{}, false, err
	}
	record, err := decodeSession(results[0])
	return record, err == nil, err
}

// unique is ids sorted, each once: the chunks of a query must not share one.
func unique(ids []string) []string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
