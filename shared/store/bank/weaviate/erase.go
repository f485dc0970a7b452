package weaviate

import (
	"context"
	"fmt"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// owning returns the collections with users' data. The proof of an erasure counts the same collections.
func (c collections) owning() []string {
	return []string{c.memory(), c.turn(), c.session(), c.core(), c.dropped()}
}

// Erase implements bank.Bank.
func (b *Bank) Erase(ctx context.Context, scope memory.Scope) error {
	if err := bank.CheckScope(scope); err != nil {
		return err
	}
	for _, collection := range b.collections.owning() {
		if err := b.eraseFrom(ctx, scope, collection); err != nil {
			return err
		}
	}
	return nil
}

// EraseTalk implements bank.Bank.
func (b *Bank) EraseTalk(ctx context.Context, scope memory.Scope, before time.Time) error {
	if err := bank.CheckScope(scope); err != nil {
		return err
	}
	older := compare(propValidFrom, pb.Filters_OPERATOR_LESS_THAN, before.UTC().Format(time.RFC3339Nano))
	return b.eraseFrom(ctx, scope, b.collections.memory(), append(inTier([]memory.Tier{memory.TierTalk}), older)...)
}

// eraseFrom removes a user's objects that match filters from a collection. The server deletes at most maxResults
// objects at a time, so it repeats until none is left.
func (b *Bank) eraseFrom(ctx context.Context, scope memory.Scope, collection string, where ...*pb.Filters) error {
	absent, err := b.tenantAbsent(ctx, collection, scope.Tenant)
	if err != nil {
		return failed(ctx, "look up tenant of "+collection, err)
	}
	for left := !absent; left; {
		if left, err = b.eraseSome(ctx, scope, collection, where); err != nil {
			return err
		}
	}
	return nil
}

// eraseSome deletes as many of a user's objects as one request allows, and reports whether there may be more.
func (b *Bank) eraseSome(
	ctx context.Context, scope memory.Scope, collection string, where []*pb.Filters,
) (more bool, err error) {
	mine := append([]*pb.Filters{equal(propUser, hashID(scope.User))}, where...)
	reply, err := b.search.BatchDelete(ctx, &pb.BatchDeleteRequest{
		Collection: collection, Tenant: &scope.Tenant, Filters: joined(pb.Filters_OPERATOR_AND, mine),
	})
	if err != nil {
		return false, failed(ctx, "erase from "+collection, err)
	}
	if reply.GetFailed() > 0 {
		return false, fmt.Errorf("erase from %s: %d of %d objects were not deleted", collection, reply.GetFailed(),
			reply.GetMatches())
	}
	return reply.GetMatches() > 0, nil
}

// Count implements bank.Bank.
func (b *Bank) Count(ctx context.Context, scope memory.Scope) (bank.Counts, error) {
	var counts bank.Counts
	for collection, n := range map[string]*int{
		b.collections.memory(): &counts.Memories, b.collections.turn(): &counts.Turns,
		b.collections.session(): &counts.Sessions, b.collections.core(): &counts.Core,
		b.collections.dropped(): &counts.Dropped,
	} {
		var err error
		if *n, err = b.count(ctx, scope, collection); err != nil {
			return bank.Counts{}, err
		}
	}
	return counts, nil
}

// addVectors adds the entries' vectors.
func (b *Bank) addVectors(ctx context.Context, scope memory.Scope, entries []memory.Memory) error {
	ids, at := make([]string, len(entries)), make(map[string]int, len(entries))
	for i, m := range entries {
		ids[i], at[m.ID] = m.ID, i
	}
	results, err := b.readByIDs(ctx, scope, b.collections.memory(), ids, func(req *pb.SearchRequest) {
		entryFields(req)
		req.Metadata.Vector = true
	})
	if err != nil {
		return err
	}
	found, err := decodeAll(results, decodeEntry)
	for _, m := range found {
		entries[at[m.ID]].Vector = m.Vector
	}
	return err
}

// ListTurns implements bank.Bank.
func (b *Bank) ListTurns(ctx context.Context, scope memory.Scope, o bank.PageOptions) (bank.TurnPage, error) {
	results, next, err := b.page(ctx, scope, b.collections.turn(), o)
	if err != nil {
		return bank.TurnPage{}, err
	}
	turns, err := decodeAll(results, decodeTurn)
	return bank.TurnPage{Turns: turns, Next: next}, err
}

// ListSessions implements bank.Bank.
func (b *Bank) ListSessions(ctx context.Context, scope memory.Scope, o bank.PageOptions) (bank.SessionPage, error) {
	results, next, err := b.page(ctx, scope, b.collections.session(), o)
	if err != nil {
		return bank.SessionPage{}, err
	}
	sessions, err := decodeAll(results, decodeSession)
	return bank.SessionPage{Sessions: sessions, Next: next}, err
}

// page reads a page of a user's objects in the order of their ids in the store. The token is the last id.
func (b *Bank) page(
	ctx context.Context, scope memory.Scope, collection string, o bank.PageOptions,
) (_ []*pb.SearchResult, next string, err error) {
	if o, err = o.Checked(); err != nil {
		return nil, "", err
	}
	var after []*pb.Filters
	if o.Token != "" {
		after = append(after, compare(propObjectID, pb.Filters_OPERATOR_GREATER_THAN, o.Token))
	}
	results, err := b.read(ctx, scope, collection, func(req *pb.SearchRequest) {
		req.Limit = uint32(o.Limit) + 1 //nolint:gosec // at most bank.MaxLimit
		req.SortBy = []*pb.SortBy{{Ascending: true, Path: []string{propObjectID}}}
	}, after...)
	if err != nil || len(results) <= o.Limit {
		return results, "", err
	}
	results = results[:o.Limit]
	return results, results[o.Limit-1].GetMetadata().GetId(), nil
}
