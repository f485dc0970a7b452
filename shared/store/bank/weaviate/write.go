package weaviate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

const (
	// concurrentRequests is the number of entries of one Write created or closed in parallel.
	concurrentRequests = 8
	// objectsPerBatch limits a batch of the longest turns to a few megabytes.
	objectsPerBatch = 100
	// indexLooks is the number of looks for an entry in the index before its repair, indexPause apart.
	indexLooks = 5
	indexPause = 20 * time.Millisecond
)

// errVanished is the error of an entry that was erased right after its creation.
var errVanished = fmt.Errorf("%w: the entry was created, but it does not exist", fault.ErrUnavailable)

// Write implements bank.Bank. It checks everything possible before the first write. A target that does not exist is a
// terminal error.
func (b *Bank) Write(ctx context.Context, scope memory.Scope, w memory.Write) error {
	if err := bank.CheckScope(scope); err != nil {
		return err
	}
	if err := bank.CheckWrite(w, b.dimension); err != nil {
		return err
	}
	targets, err := b.targets(ctx, scope, w)
	if err != nil {
		return err
	}
	if err := b.createEach(ctx, scope, w.Put); err != nil {
		return err
	}
	if err := b.release(ctx, scope, w.Release, targets); err != nil {
		return err
	}
	if err := b.close(ctx, scope, w.Close, targets); err != nil {
		return err
	}
	if err := b.upsert(ctx, turnObjects(b.collections.turn(), scope, w.Turns)); err != nil {
		return err
	}
	if w.Core != nil {
		if err := b.putCore(ctx, scope, *w.Core); err != nil {
			return err
		}
	}
	if w.Session == nil {
		return nil
	}
	return b.putSession(ctx, scope, *w.Session)
}

// putSession keeps a session record unless the stored one was formed later: a late duplicate must not restore an old
// record. A read before the write is sufficient, because a user has a single writer.
func (b *Bank) putSession(ctx context.Context, scope memory.Scope, r memory.SessionRecord) error {
	kept, ok, err := b.Session(ctx, scope, r.SessionID)
	if err != nil {
		return err
	}
	if ok && r.FormedAt.Before(kept.FormedAt) {
		return nil
	}
	return b.upsert(ctx, []*models.Object{newObject(b.collections.session(), scope, r.SessionID,
		sessionProperties(scope, r))})
}

// target is an entry to close or release: its state, and its closing if it is closed.
type target struct {
	status memory.Status
	closed properties
}

// targets returns the entries to close or release. It refuses entries that neither exist nor are in the same Write.
func (b *Bank) targets(ctx context.Context, scope memory.Scope, w memory.Write) (map[string]target, error) {
	ids := unique(bank.Targets(w))
	results, err := b.newestByIDs(ctx, scope, b.collections.memory(), ids, false)
	if err != nil {
		return nil, err
	}
	known := make(map[string]target, len(results))
	for _, r := range results {
		o, closed := open(r), properties{}
		for _, name := range []string{propStatus, propValidTo, propClosedBy} {
			closed.text(name, o.text(name))
		}
		known[o.text(propEntryID)] = target{memory.Status(o.text(propStatus)), closed}
	}
	for _, m := range w.Put {
		if _, exists := known[m.ID]; !exists {
			known[m.ID] = target{status: m.Status}
		}
	}
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			return nil, fault.Terminal("write.target", "%s: %w", id, bank.ErrNotFound)
		}
	}
	return known, nil
}

// createEach creates the entries that do not exist, one by one. The server refuses to create an existing object at the
// time of the write, but a batch would replace it. A delayed old write must not restore an entry that was closed
// meanwhile.
func (b *Bank) createEach(ctx context.Context, scope memory.Scope, entries []memory.Memory) error {
	key := hashID(scope.User)
	var mu sync.Mutex
	var created []memory.Memory
	err := eachOf(ctx, entries, func(ctx context.Context, m memory.Memory) error {
		props, err := entryProperties(scope, m)
		if err != nil {
			return err
		}
		_, err = b.rest.Data().Creator().WithClassName(b.collections.memory()).WithTenant(scope.Tenant).
			WithID(objectID(key, m.ID)).WithProperties(map[string]any(props)).WithVector(m.Vector).Do(ctx)
		// "Exists already" has the same status as "is invalid".
		if refusedWith(err, http.StatusUnprocessableEntity) {
			return b.repair(ctx, scope, m, err)
		}
		if err != nil {
			return failed(ctx, "write memory "+m.ID, err)
		}
		mu.Lock()
		defer mu.Unlock()
		created = append(created, m)
		return nil
	})
	if err != nil {
		return err
	}
	lost, err := b.withoutVector(ctx, scope, created)
	if err != nil {
		return err
	}
	return eachOf(ctx, lost, func(ctx context.Context, m memory.Memory) error {
		return b.repair(ctx, scope, m, errVanished)
	})
}

// withoutVector returns the created entries that a search by vector does not find. The server accepts a creation and
// skips it if a cancelled request has just stored an equal object, and that request does not add the vector. A search
// without a limit of the distance finds all entries with a vector, so any vector is suitable.
func (b *Bank) withoutVector(
	ctx context.Context, scope memory.Scope, created []memory.Memory,
) ([]memory.Memory, error) {
	key := hashID(scope.User)
	found := map[string]bool{}
	for chunk := range slices.Chunk(created, idsPerQuery) {
		ids := make([]string, len(chunk))
		for i, m := range chunk {
			ids[i] = objectID(key, m.ID)
		}
		results, err := b.read(ctx, scope, b.collections.memory(), nearest(chunk[0].Vector), anyOf(propObjectID, ids))
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			found[r.GetMetadata().GetId()] = true
		}
	}
	return slices.DeleteFunc(created, func(m memory.Memory) bool { return found[objectID(key, m.ID)] }), nil
}

// repair makes the server index an existing entry again if the index does not lead to it. If the server was killed or
// the request was cancelled during the write, the object may exist without its index rows or its vector. Any change of
// the vector makes the server write all rows and the vector; a vector of twice the length has the same cosines. absent
// is the error if the entry does not exist.
func (b *Bank) repair(ctx context.Context, scope memory.Scope, m memory.Memory, absent error) error {
	what, id := "write memory "+m.ID, objectID(hashID(scope.User), m.ID)
	found, err := b.rest.Data().ObjectsGetter().WithClassName(
		b.collections.memory()).WithTenant(scope.Tenant).WithID(id).WithVector().Do(ctx)
	if refusedWith(err, http.StatusNotFound) || err == nil && len(found) != 1 {
		return failed(ctx, what, absent)
	}
	if err != nil {
		return failed(ctx, what, err)
	}
	kept, _ := found[0].Properties.(map[string]any)
	led, err := b.becomesIndexed(ctx, scope, id, kept, m.Vector)
	if err != nil || led {
		return err
	}
	longer := slices.Clone([]float32(found[0].Vector))
	if len(longer) == 0 {
		longer = slices.Clone(m.Vector)
	}
	for i := range longer {
		longer[i] *= 2
	}
	err = b.rest.Data().Updater().WithMerge().WithClassName(b.collections.memory()).WithTenant(scope.Tenant).WithID(id).
		WithProperties(map[string]any{propUser: hashID(scope.User)}).WithVector(longer).Do(ctx)
	if err != nil {
		return failed(ctx, what, err)
	}
	return nil
}

// becomesIndexed calls isIndexed several times, because the creation of the object may still run. A repair at the same
// time would leave index rows of two versions.
func (b *Bank) becomesIndexed(
	ctx context.Context, scope memory.Scope, id string, kept map[string]any, vector memory.Vector,
) (bool, error) {
	for look := 1; ; look++ {
		led, err := b.isIndexed(ctx, scope, id, kept, vector)
		if err != nil || led || look == indexLooks {
			return led, err
		}
		select {
		case <-ctx.Done():
			return false, failed(ctx, "look for object "+id, ctx.Err())
		case <-time.After(indexPause):
		}
	}
}

// isIndexed reports whether all index rows of an object's properties lead to it. With a vector, it also reports whether
// a search by vector finds the object.
func (b *Bank) isIndexed(
	ctx context.Context, scope memory.Scope, id string, kept map[string]any, vector memory.Vector,
) (bool, error) {
	where := []*pb.Filters{equal(propObjectID, id)}
	for _, name := range []string{propEntryID, propStatus, propTier, propSources, propPredecessors, propTokens} {
		switch value := kept[name].(type) {
		case string:
			where = append(where, equal(name, value))
		case []any:
			for _, v := range value {
				where = append(where, equal(name, fmt.Sprint(v)))
			}
		}
	}
	found, err := b.read(ctx, scope, b.collections.memory(), nearest(vector), where...)
	return len(found) > 0, err
}

// nearest requests the ids of the objects in the order of their distance to a vector, or in no order for nil. It omits
// objects without a vector.
func nearest(vector memory.Vector) func(*pb.SearchRequest) {
	return func(req *pb.SearchRequest) {
		only(propEntryID)(req)
		if vector != nil {
			match(req, bank.Query{Vector: vector}, false, true)
		}
	}
}

// release ends the quarantine of the quarantined targets. For the others, see changed.
func (b *Bank) release(
	ctx context.Context, scope memory.Scope, releases []memory.Release, targets map[string]target,
) error {
	return eachOf(ctx, releases, func(ctx context.Context, r memory.Release) error {
		switch status := targets[r.ID].status; status {
		case memory.StatusQuarantined:
		case memory.StatusActive:
			if done, err := b.changed(ctx, scope, r.ID, status, memory.StatusQuarantined); err != nil || done {
				return err
			}
		default:
			return nil // closed meanwhile
		}
		return b.merge(ctx, scope, r.ID, releaseProperties(r), "release")
	})
}

// close closes the open targets. The others are closed already and stay unchanged; see changed.
func (b *Bank) close(
	ctx context.Context, scope memory.Scope, closings []memory.Closing, targets map[string]target,
) error {
	return eachOf(ctx, firstOfEach(closings), func(ctx context.Context, c memory.Closing) error {
		closing := closingProperties(c)
		if before := targets[c.ID]; !before.status.Open() {
			if done, err := b.changed(ctx, scope, c.ID, before.status, memory.StatusActive); err != nil || done {
				return err
			}
			if before.closed != nil { // the first closing stays
				closing = before.closed
			}
		}
		return b.merge(ctx, scope, c.ID, closing, "close")
	})
}

// changed reports whether the index has the entry's state, too. The index may lack it if the server was killed during
// that write. A change to the same value would change no index rows, so the entry first gets the previous state.
func (b *Bank) changed(ctx context.Context, scope memory.Scope, id string, now, before memory.Status) (bool, error) {
	led, err := b.isIndexed(ctx, scope, objectID(hashID(scope.User), id), map[string]any{propStatus: string(now)}, nil)
	if err != nil || led {
		return led, err
	}
	return false, b.merge(ctx, scope, id, properties{propStatus: string(before)}, "put back")
}

// merge changes some properties of an entry.
func (b *Bank) merge(ctx context.Context, scope memory.Scope, id string, p properties, what string) error {
	err := b.rest.Data().Updater().WithMerge().WithClassName(b.collections.memory()).WithTenant(scope.Tenant).
		WithID(objectID(hashID(scope.User), id)).WithProperties(map[string]any(p)).Do(ctx)
	if err != nil {
		return failed(ctx, what+" memory "+id, err)
	}
	return nil
}

// firstOfEach drops repeated closings of an entry, because the first one closes it.
func firstOfEach(closings []memory.Closing) []memory.Closing {
	seen := map[string]bool{}
	return slices.DeleteFunc(closings, func(c memory.Closing) bool {
		again := seen[c.ID]
		seen[c.ID] = true
		return again
	})
}

// upsert writes objects that are the same when repeated, or with a last version that wins.
func (b *Bank) upsert(ctx context.Context, objects []*models.Object) error {
	for chunk := range slices.Chunk(objects, objectsPerBatch) {
		results, err := b.rest.Batch().ObjectsBatcher().WithObjects(chunk...).Do(ctx)
		if err != nil {
			return failed(ctx, "write batch", err)
		}
		if len(results) != len(chunk) {
			return fmt.Errorf("write batch: got %d results for %d objects", len(results), len(chunk))
		}
		for _, r := range results {
			if err := objectError(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// objectError returns the reason why an object of a batch was not written, or nil. The objects were checked before,
// so the cause is the server: too few replicas answer, or a disk is full.
func objectError(r models.ObjectsGetResponse) error {
	if r.Result == nil || r.Result.Errors == nil || len(r.Result.Errors.Error) == 0 {
		if r.Result != nil && r.Result.Status != nil && *r.Result.Status == models.ObjectsGetResponseAO2ResultStatusFAILED {
			return fmt.Errorf("write %s %s: %w: refused without a reason", r.Class, r.ID, fault.ErrUnavailable)
		}
		return nil
	}
	return fmt.Errorf("write %s %s: %w: %s", r.Class, r.ID, fault.ErrUnavailable, r.Result.Errors.Error[0].Message)
}

func turnObjects(collection string, scope memory.Scope, turns []memory.Turn) []*models.Object {
	objects := make([]*models.Object, 0, len(turns))
	for _, t := range turns {
		objects = append(objects, newObject(collection, scope, t.ID, turnProperties(scope, t)))
	}
	return objects
}

// eachOf calls do for every item, some in parallel, and stops at the first error.
func eachOf[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentRequests)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}
