package weaviate

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Get implements bank.Bank.
func (b *Bank) Get(ctx context.Context, scope memory.Scope, id string) (memory.Memory, error) {
	found, err := b.newestByIDs(ctx, scope, b.collections.memory(), []string{id}, false)
	if err != nil {
		return memory.Memory{}, err
	}
	if len(found) == 0 {
		return memory.Memory{}, fmt.Errorf("%s: %w", id, bank.ErrNotFound)
	}
	return decodeEntry(found[0])
}

func (b *Bank) entriesByIDs(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Memory, error) {
	results, err := b.readByIDs(ctx, scope, b.collections.memory(), ids, entryFields)
	if err != nil {
		return nil, err
	}
	return decodeAll(results, decodeEntry)
}

// List implements bank.Bank. Weaviate sorts by one property from its index. To sort by several, it reads all of the
// user's objects. So queries sort by time. A query may split a group of entries with the same recorded time, so such
// a group is read and sorted separately.
func (b *Bank) List(ctx context.Context, scope memory.Scope, o bank.ListOptions) (bank.Page, error) {
	o, token, err := o.Checked()
	if err != nil {
		return bank.Page{}, err
	}
	entries, err := b.firstMatching(ctx, scope, o, token)
	if err != nil {
		return bank.Page{}, err
	}
	page := bank.Page{Memories: entries}
	if len(entries) > o.Limit {
		page = bank.Page{Memories: entries[:o.Limit], Next: bank.TokenAfter(entries[o.Limit-1]).String()}
	}
	if o.WithVectors {
		err = b.addVectors(ctx, scope, page.Memories)
	}
	return page, err
}

// firstMatching returns the page's entries after a position, and one more. If the index returns entries that do not
// match, it reads larger and larger parts.
func (b *Bank) firstMatching(
	ctx context.Context, scope memory.Scope, o bank.ListOptions, place bank.PageToken,
) (out []memory.Memory, err error) {
	where, ok := narrowed(scope.User, o.Filter)
	if !ok {
		return nil, nil
	}
	where = slices.Concat(inStatus(o.Statuses), inTier(o.Tiers), madeOf(o.Sources), where)
	want := o.Limit + 1
	for count := want; ; count = min(4*count, maxResults/4) {
		entries, err := b.firstAfter(ctx, scope, where, place, count)
		if err != nil {
			return nil, err
		}
		last := len(entries) < count
		if !last {
			place = bank.TokenAfter(entries[len(entries)-1])
		}
		for _, m := range entries {
			if o.Filter.Match(m) {
				out = append(out, m)
			}
		}
		if last || len(out) >= want {
			return out[:min(len(out), want)], nil
		}
	}
}

// firstAfter returns the first count entries after a position.
func (b *Bank) firstAfter(
	ctx context.Context, scope memory.Scope, where []*pb.Filters, place bank.PageToken, count int,
) ([]memory.Memory, error) {
	var entries []memory.Memory
	if !place.IsZero() {
		group, err := b.sameTime(ctx, scope, where, place, count)
		if err != nil {
			return nil, err
		}
		entries = group
	}
	for after := place.RecordedAt; len(entries) < count; {
		missing := count - len(entries)
		batch, err := b.later(ctx, scope, where, after, missing)
		if err != nil {
			return nil, err
		}
		if len(batch) < missing {
			return append(entries, batch...), nil
		}
		after = batch[len(batch)-1].RecordedAt
		batch = slices.DeleteFunc(batch, func(m memory.Memory) bool { return m.RecordedAt.Equal(after) })
		entries = append(entries, batch...)
		group, err := b.sameTime(ctx, scope, where, bank.PageToken{RecordedAt: after}, count-len(entries))
		if err != nil {
			return nil, err
		}
		entries = append(entries, group...)
	}
	return entries, nil
}

// sameTime returns the first count entries after a position that have its recorded time.
func (b *Bank) sameTime(
	ctx context.Context, scope memory.Scope, where []*pb.Filters, place bank.PageToken, count int,
) ([]memory.Memory, error) {
	at := equal(propRecordedAt, place.RecordedAt.Format(time.RFC3339Nano))
	results, err := b.read(ctx, scope, b.collections.memory(), only(propEntryID),
		slices.Concat(where, []*pb.Filters{at})...)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range results {
		if id := open(r).text(propEntryID); id > place.ID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	entries, err := b.entriesByIDs(ctx, scope, ids[:min(len(ids), count)])
	slices.SortFunc(entries, bank.ByRecorded)
	return entries, err
}

// later returns the first count entries recorded after a time, or all for a zero time. The last entries of one
// recorded time may be missing.
func (b *Bank) later(
	ctx context.Context, scope memory.Scope, where []*pb.Filters, after time.Time, count int,
) ([]memory.Memory, error) {
	if !after.IsZero() {
		since := compare(propRecordedAt, pb.Filters_OPERATOR_GREATER_THAN, after.Format(time.RFC3339Nano))
		where = slices.Concat(where, []*pb.Filters{since})
	}
	results, err := b.read(ctx, scope, b.collections.memory(), func(req *pb.SearchRequest) {
		entryFields(req)
		req.Limit = uint32(count)
		req.SortBy = []*pb.SortBy{{Ascending: true, Path: []string{propRecordedAt}}}
	}, where...)
	if err != nil {
		return nil, err
	}
	entries, err := decodeAll(results, decodeEntry)
	slices.SortFunc(entries, bank.ByRecorded)
	return entries, err
}

// History implements bank.Bank. It follows the chain in both directions, with one query per generation.
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
		results, err := b.read(ctx, scope, b.collections.memory(), entryFields, anyOf(propPredecessors, chunk))
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
	results, err := b.newestByIDs(ctx, scope, b.collections.session(), []string{sessionID}, false)
	if err != nil || len(results) == 0 {
		return memory.SessionRecord{}, false, err
	}
	record, err := decodeSession(results[0])
	return record, err == nil, err
}

// unique returns the ids sorted, each once, because the chunks of a query must not overlap.
func unique(ids []string) []string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
