package weaviate

import (
	"context"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// WriteDropped implements bank.Bank.
func (b *Bank) WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error {
	if err := bank.CheckScope(scope); err != nil {
		return err
	}
	if err := bank.CheckDropped(dropped); err != nil {
		return err
	}
	return b.upsert(ctx, droppedObjects(b.collections.dropped(), scope, dropped))
}

// droppedObjects returns one object per turn, because a batch has no defined order for two objects with one id.
func droppedObjects(collection string, scope memory.Scope, dropped []memory.Dropped) []*models.Object {
	at := make(map[string]int, len(dropped))
	objects := make([]*models.Object, 0, len(dropped))
	for _, d := range dropped {
		o := newObject(collection, scope, d.TurnID, droppedProperties(scope, d))
		if i, again := at[d.TurnID]; again {
			objects[i] = o
			continue
		}
		at[d.TurnID] = len(objects)
		objects = append(objects, o)
	}
	return objects
}

func droppedProperties(scope memory.Scope, d memory.Dropped) properties {
	p := owned(scope)
	p.text("turnId", d.TurnID)
	p.text("sessionId", d.SessionID)
	p.time("time", d.Time)
	p.text("policyVersion", d.PolicyVersion)
	p.time("decidedAt", d.DecidedAt)
	p["score"], p["threshold"] = d.Score, d.Threshold
	return p
}

// Dropped implements bank.Bank.
func (b *Bank) Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error) {
	if err := bank.CheckScope(scope); err != nil {
		return nil, err
	}
	results, err := b.readByIDs(ctx, scope, b.collections.dropped(), unique(turnIDs), whole)
	if err != nil {
		return nil, err
	}
	return decodeAll(results, decodeDropped)
}

func decodeDropped(r *pb.SearchResult) (memory.Dropped, error) {
	o := open(r)
	d := memory.Dropped{
		TurnID: o.text("turnId"), SessionID: o.text("sessionId"), Time: o.time("time"),
		Score: o.number("score"), Threshold: o.number("threshold"), PolicyVersion: o.text("policyVersion"),
		DecidedAt: o.time("decidedAt"),
	}
	return d, o.err
}

// EraseDropped implements bank.Bank.
func (b *Bank) EraseDropped(ctx context.Context, scope memory.Scope) error {
	if err := bank.CheckScope(scope); err != nil {
		return err
	}
	return b.eraseFrom(ctx, scope, b.collections.dropped())
}
