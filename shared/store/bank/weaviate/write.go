package weaviate

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

const (
	// concurrentRequests is how many entries of one Write are created or closed at a time.
	concurrentRequests = 8
	// objectsPerBatch keeps a batch of the longest turns at a few megabytes.
	objectsPerBatch = 100
)

// Write implements bank.Bank. What it can refuse it refuses before anything is written; a
// target that does not exist is a terminal error.
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
	if err := b.put(ctx, scope, w.Put); err != nil {
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

// putSession keeps a session record, unless one that was formed later is kept: a late duplicate of an old
// write must not put an old record back. A user's single writer makes reading first enough.
func (b *Bank) putSession(ctx context.Context, scope memory.Scope, r memory.SessionRecord) error {
	kept, ok, err := b.Session(ctx, scope, r.SessionID)
	if err != nil {
		return err
	}
	if ok && r.FormedAt.Before(kept.FormedAt) {
		return nil
	}
	return b.upsert(ctx, []*models.Object{newObject(b.collections.session(), scope, r.SessionID, sessionProperties(scope, r))})
}

// target is an entry to close or release: its state, and how it was closed where it was.
type target struct {
	status memory.Status
	closed properties
}

// targets returns the entries to close or release, and refuses those that neither exist nor are written by the same Write.
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

// put creates the entries that do not exist. It creates one by one, because the server
// refuses to create what exists in the moment of writing, whereas a batch replaces it: an old write that was
// delayed on its way must not bring back an entry that has been closed meanwhile.
func (b *Bank) put(ctx context.Context, scope memory.Scope, entries []memory.Memory) error {
	key := hashID(scope.User)
	return eachOf(ctx, entries, func(ctx context.Context, m memory.Memory) error {
		props, err := entryProperties(scope, m)
		if err != nil {
			return err
		}
		_, err = b.rest.Data().Creator().WithClassName(b.collections.memory()).WithTenant(scope.Tenant).
			WithID(objectID(key, m.ID)).WithProperties(map[string]any(props)).WithVector(m.Vector).Do(ctx)
		if err == nil {
			return nil
		}
		// "Exists already" has the same status as "is invalid".
		if refusedWith(err, http.StatusUnprocessableEntity) {
			return b.settle(ctx, scope, m, err)
		}
		return failed(ctx, "write memory "+m.ID, err)
	})
}

// settle finds out why an entry was refused. Where it exists, it is written, unless the server was killed while it wrote it: then the
// object may be there while rows of the index that lead to it are not. Whatever of the vector has changed has the server write them all;
// twice its length has the same cosines.
func (b *Bank) settle(ctx context.Context, scope memory.Scope, m memory.Memory, refused error) error {
	what, id := "write memory "+m.ID, objectID(hashID(scope.User), m.ID)
	found, err := b.rest.Data().ObjectsGetter().WithClassName(b.collections.memory()).WithTenant(scope.Tenant).WithID(id).WithVector().Do(ctx)
	if refusedWith(err, http.StatusNotFound) || err == nil && len(found) != 1 {
		return failed(ctx, what, refused)
	}
	if err != nil {
		return failed(ctx, what, err)
	}
	kept, _ := found[0].Properties.(map[string]any)
	led, err := b.led(ctx, scope, id, kept)
	if err != nil || led {
		return err
	}
	longer := slices.Clone([]float32(found[0].Vector))
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

// led reports whether the rows of the index that an object's properties have lead to it.
func (b *Bank) led(ctx context.Context, scope memory.Scope, id string, kept map[string]any) (bool, error) {
	where := []*pb.Filters{equal(propObjectID, id)}
	for _, name := range []string{propEntryID, propStatus, propSources, propPredecessors, propTokens} {
		switch value := kept[name].(type) {
		case string:
			where = append(where, equal(name, value))
		case []any:
			for _, v := range value {
				where = append(where, equal(name, fmt.Sprint(v)))
			}
		}
	}
	found, err := b.read(ctx, scope, b.collections.memory(), only(propEntryID), where...)
	return len(found) > 0, err
}

// release ends the quarantine of those of the targets that are in it; of the rest, see changed.
func (b *Bank) release(ctx context.Context, scope memory.Scope, releases []memory.Release, targets map[string]target) error {
	return eachOf(ctx, releases, func(ctx context.Context, r memory.Release) error {
		switch status := targets[r.ID].status; status {
		case memory.StatusQuarantined:
		case memory.StatusActive:
			if done, err := b.changed(ctx, scope, r.ID, status, memory.StatusQuarantined); err != nil || done {
				return err
			}
		default:
			return nil // closed since
		}
		return b.merge(ctx, scope, r.ID, releaseProperties(r), "release")
	})
}

// close closes the open ones of the targets. The rest are closed already and stay as they are; see changed.
func (b *Bank) close(ctx context.Context, scope memory.Scope, closings []memory.Closing, targets map[string]target) error {
	return eachOf(ctx, firstOfEach(closings), func(ctx context.Context, c memory.Closing) error {
		closing := closingProperties(c)
		if before := targets[c.ID]; !before.status.Open() {
			if done, err := b.changed(ctx, scope, c.ID, before.status, memory.StatusActive); err != nil || done {
				return err
			}
			if before.closed != nil { // it stays closed as it was first
				closing = before.closed
			}
		}
		return b.merge(ctx, scope, c.ID, closing, "close")
	})
}

// changed reports whether the index, too, has the state that an entry has. Where the server was killed while it wrote that, the index may
// not; a change to the same would change no rows, so that the entry gets the state of before first.
func (b *Bank) changed(ctx context.Context, scope memory.Scope, id string, now, before memory.Status) (bool, error) {
	led, err := b.led(ctx, scope, objectID(hashID(scope.User), id), map[string]any{propStatus: string(now)})
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

// firstOfEach drops closings of an entry after the first: the first closes it.
func firstOfEach(closings []memory.Closing) []memory.Closing {
	seen := map[string]bool{}
	return slices.DeleteFunc(closings, func(c memory.Closing) bool {
		again := seen[c.ID]
		seen[c.ID] = true
		return again
	})
}

// upsert writes objects whose content does not change by repeating, or whose last version counts.
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

// objectError returns why one object of a batch was not written, nil when it was. What is sent was checked before, so that it is the
// server which cannot: too few replicas answer, or a disk is full.
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

// eachOf calls do for every item, some at a time, and stops at the first error.
func eachOf[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentRequests)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}
